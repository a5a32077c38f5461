"""The cluster's certificates and the kubeconfigs made of them.

Keeps true: each component is who it is by its certificate alone, as in a cluster made by hand;
nothing is valid for longer than a test cluster lives.
"""

import json
import subprocess
from pathlib import Path

VALID_DAYS = "3"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")

ADMIN = "/O=system:masters/CN=admin"


class Authority:
    """One certificate authority, its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.crt"

    def key_of(self, name: str) -> Path:
        return self.folder / f"{name}.key"

    def certificate_of(self, name: str) -> Path:
        return self.folder / f"{name}.crt"

    def create(self) -> None:
        """Also makes the key that signs the tokens of service accounts: `sa.key`, `sa.pub`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        whole = ("-days", VALID_DAYS, "-subj", "/CN=steelyard-e2e")
        key = self.key_of("ca")
        _openssl("req", "-x509", *KEY, "-keyout", key, "-out", self.certificate, *whole)
        signer = self.key_of("sa")
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", signer)
        _openssl("ec", "-in", signer, "-pubout", "-out", self.folder / "sa.pub")

    def issue(self, name: str, subject: str, *alternatives: str) -> None:
        """`alternatives` as openssl writes them: DNS:name, IP:address."""
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(
            f"subjectAltName={','.join(alternatives or (f'DNS:{name}',))}\n"
            "extendedKeyUsage=serverAuth,clientAuth\n",
            encoding="utf-8",
        )
        key = self.key_of(name)
        _openssl("req", *KEY, "-keyout", key, "-out", request, "-subj", subject)
        signed_by = ("-CA", self.certificate, "-CAkey", self.key_of("ca"), "-CAcreateserial")
        out = ("-out", self.certificate_of(name), "-days", VALID_DAYS, "-extfile", extensions)
        _openssl("x509", "-req", "-in", request, *signed_by, *out)

    def kubeconfig(self, name: str, server: str, path: Path) -> Path:
        cluster = {"server": server, "certificate-authority": str(self.certificate)}
        user = {
            "client-certificate": str(self.certificate_of(name)),
            "client-key": str(self.key_of(name)),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": "steelyard-e2e", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": "steelyard-e2e", "user": name}}],
        }
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        path.chmod(0o600)
        return path


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
