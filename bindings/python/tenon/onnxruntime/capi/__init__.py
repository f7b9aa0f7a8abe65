# SPDX-License-Identifier: Apache-2.0
"""Modules by the names that onnxruntime has them under: programs import exceptions and classes from here."""
