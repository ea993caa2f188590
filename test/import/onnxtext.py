"""onnxtext.py TEXT OUT.onnx: converts a model in ONNX's text form (onnx.parser) to a binary file.

Lines that start with '//' (the RUN and CHECK lines of lit) are left out before parsing.
"""
import sys

import onnx.parser


def main() -> int:
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        text = "".join(line for line in file if not line.lstrip().startswith("//"))
    model = onnx.parser.parse_model(text)
    with open(target, "wb") as file:
        file.write(model.SerializeToString())
    return 0


if __name__ == "__main__":
    sys.exit(main())
