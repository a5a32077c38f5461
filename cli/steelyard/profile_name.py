"""The option that says what a simulated engine is: by a name, or by a file that was measured."""

import click

from steelyard_simulator.engine.profile import PROFILES, profile


class ProfileName(click.ParamType[str]):
    """One that `profile()` knows or can read."""

    name = "profile"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        try:
            profile(str(value))
        except ValueError as exc:
            self.fail(str(exc), param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        del param, ctx
        return f"[{'|'.join(sorted(PROFILES))}|FILE.json]"
