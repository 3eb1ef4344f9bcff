"""Networks of images: torchvision's own, transformers' ViT, and a U-Net."""
import torch
import torchvision
import transformers
from specification import Dim, Input, Specification
from torch.nn import functional


class UNet(torch.nn.Module):
    """As Ronneberger, Fischer and Brox have it, narrower, with padded convolutions and batch norm: pictures of any size, of which what halving has cut off is padded again."""

    def __init__(self, widths=(12, 20, 36, 60), classes=5):
        super().__init__()
        self.down = torch.nn.ModuleList(self.block(before, after) for before, after in zip((3, *widths), widths))
        self.up = torch.nn.ModuleList(torch.nn.ConvTranspose2d(wide, narrow, 2, stride=2) for wide, narrow in zip(widths[:0:-1], widths[-2::-1]))
        self.join = torch.nn.ModuleList(self.block(2 * narrow, narrow) for narrow in widths[-2::-1])
        self.head = torch.nn.Conv2d(widths[0], classes, 1)

    @staticmethod
    def block(before, after):
        layers = []
        for width in (before, after):
            layers += [torch.nn.Conv2d(width, after, 3, padding=1, bias=False), torch.nn.BatchNorm2d(after), torch.nn.ReLU(inplace=True)]
        return torch.nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for block in self.down[:-1]:
            x = block(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.down[-1](x)
        for up, join, left in zip(self.up, self.join, reversed(kept)):
            x = up(x)
            x = functional.pad(x, (0, left.shape[3] - x.shape[3], 0, left.shape[2] - x.shape[2]))
            x = join(torch.cat((left, x), 1))
        return self.head(x)


class ViT(torch.nn.Module):
    """At any size: embeddings of positions are interpolated."""

    def __init__(self):
        super().__init__()
        self.model = transformers.ViTModel(transformers.ViTConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=112, image_size=56, patch_size=8,
                                                                  attn_implementation="sdpa"))

    def forward(self, image):
        result = self.model(image, interpolate_pos_encoding=True, return_dict=True)
        return result.last_hidden_state, result.pooler_output


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    return ConvNeXt([CNBlockConfig(16, 32, 2), CNBlockConfig(32, 64, 2), CNBlockConfig(64, 96, 2), CNBlockConfig(96, None, 1)], num_classes=50)


def swin():
    from torchvision.models.swin_transformer import SwinTransformer
    return SwinTransformer(patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=50)


def image_model(name, build, side=Dim(32, 160, 75), outputs=("logits",), **more):
    """Height and width are free; the widest's example differs, so that neither is taken for the other."""
    dims = {"B": Dim(1, 4, 2), "H": side, "W": Dim(side.least, side.greatest, side.example + 3 * side.step, side.step)}
    more.setdefault("output_axes", {})
    return Specification(name, build, dims, [Input("image", ("B", 3, "H", "W"))], list(outputs), **more)


def image_models():
    models = torchvision.models
    return [
        image_model("vit", ViT, Dim(16, 96, 40, 8), ("last_hidden_state", "pooler_output")),
        image_model("swin", swin, Dim(33, 128, 70)),
        image_model("convnext", convnext),
        image_model("mobilenet-v2", lambda: models.mobilenet_v2(width_mult=0.5, num_classes=50)),
        image_model("mobilenet-v3", lambda: models.mobilenet_v3_small(num_classes=50)),
        image_model("efficientnet", lambda: models.efficientnet_b0(num_classes=50)),
        image_model("resnet", lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=50)),
        image_model("unet", UNet, Dim(16, 100, 37), ("classes",), output_axes={"classes": {0: "B", 2: "H", 3: "W"}}),
    ]
