"""Reports that are folders of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.skill_creator import files, outputs

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.storage.run_directory import RunDirectory


def write_skill_creator(directory: RunDirectory, report: RunReport, folder: Path) -> None:
    """Write the folder that skill-creator's viewer reads. Raises OutputError.

    The files that sessions changed are copied from the run directory; those of other run directories are not there.
    What an earlier report says about the same runs is replaced, also by nothing.
    """
    for file in files(report):
        if file.text is None:
            directory.remove_file(folder / file.path)
        else:
            directory.write_whole(folder / file.path, [file.text])
    for one in outputs(report):
        directory.copy_changes(one.directory, folder / one.path)
