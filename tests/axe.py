"""axe-core, the checker of accessible pages: downloaded from npm once, run in an open browser."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "axe-core@4.14.0"
CACHE = Path(__file__).parents[1] / ".pytest_cache" / f"{PACKAGE}.tgz"
RUN = "const done = arguments[0]; axe.run().then(({violations}) => done(violations), (error) => done(String(error)));"


def axe_source() -> str | None:
    """Source of axe-core, or None where npm cannot download it."""
    if not CACHE.exists() and not _download():
        return None
    with tarfile.open(CACHE) as archive:
        return archive.extractfile("package/axe.min.js").read().decode("utf-8")


def _download() -> bool:
    """Put the package into the cache; False if there is no npm or no registry."""
    npm = shutil.which("npm")
    CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        try:
            command = [npm or "npm", "pack", PACKAGE, "--silent", "--pack-destination", folder]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return False
        (package,) = Path(folder).glob("*.tgz")
        os.replace(package, CACHE)
    return True


def serious_violations(driver) -> list[str]:
    """Serious and critical violations on the page that is open: rule, what to do, and where, one line each."""
    driver.execute_script(axe_source())
    found = driver.execute_async_script(RUN)
    assert isinstance(found, list), found
    bad = [violation for violation in found if violation["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['help']}: {' | '.join(node['html'][:120] for node in one['nodes'][:5])}" for one in bad]
