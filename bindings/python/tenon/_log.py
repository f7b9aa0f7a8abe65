# SPDX-License-Identifier: Apache-2.0
"""Tenon's log as lines of logging.getLogger("tenon")."""

import logging

LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}
logger = logging.getLogger("tenon")


def emit(level, text):
    logger.log(LEVELS.get(level, logging.DEBUG), "%s", text)


def wanted_level():
    """What the logger takes now, as Tenon's number."""
    return max((number for number, level in LEVELS.items() if logger.isEnabledFor(level)), default=1)
