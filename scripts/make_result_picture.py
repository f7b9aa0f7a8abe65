#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts crops of the demonstration's pictures side by side: make_result_picture.py DEMO_DIR OUT.png

Needs Pillow (Debian: python3-pil). DEMO_DIR is build/demo after `make demo`."""
import sys
from PIL import Image, ImageDraw, ImageFont

BOX, ZOOM = (250, 180, 390, 320), 2
folder, out = sys.argv[1:3]
names = [("bicubic", f"{folder}/bicubic_384x512.png"), ("SRCNN, one plan, one plugin layer", f"{folder}/sr_384x512.png"),
         ("original", "models/photo_2x.png")]
width, height = (BOX[2] - BOX[0]) * ZOOM, (BOX[3] - BOX[1]) * ZOOM
sheet = Image.new("RGB", (3 * width + 20, height + 26), "white")
draw = ImageDraw.Draw(sheet)
for i, (title, path) in enumerate(names):
    crop = Image.open(path).convert("RGB").crop(BOX).resize((width, height), Image.NEAREST)
    sheet.paste(crop, (i * (width + 10), 26))
    draw.text((i * (width + 10) + 2, 6), title, fill="black", font=ImageFont.load_default())
sheet.save(out, optimize=True)
