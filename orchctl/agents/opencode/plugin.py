"""The plugin that tells commands which conversation they are run in (`tools.js`), put beside those of the user.

opencode takes plugins from all of its configurations together, so one in its environment takes none away. It is a file
of ours without dependencies. But before any plugin is loaded, opencode waits for packages that it installs into the
user's configuration directory, where they are missing, with minutes of patience for a registry that does not answer.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping

CONTENT = "OPENCODE_CONFIG_CONTENT"
KEPT = "orchctl_env"  # under which a conversation bears what its commands are to see
_FILE = pathlib.Path(__file__).with_name("tools.js")
# A conversation is given a minute to begin. Not for commands: the plugin takes these away again.
_NPM = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "15000"}


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """What is added to a server's environment; nothing where the user's configuration in it is not plain JSON."""
    npm = {name: value for name, value in _NPM.items() if name not in env}
    try:
        config = json.loads(env.get(CONTENT) or "{}")
    except ValueError:
        return {}
    own = config.get("plugin", []) if isinstance(config, dict) else None
    if not isinstance(own, list):
        return {}
    ours = [_FILE.as_uri(), {"hidden": [*npm]}]
    return {**npm, CONTENT: json.dumps({**config, "plugin": [*own, ours]})}
