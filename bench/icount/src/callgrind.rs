//! Runs a row under callgrind.

use std::{path::Path, process::Command};

use crate::{Failure, profile::Profile, rows::Row};

/// callgrind counts a `rep movsb` as one instruction per byte, which says nothing about its time. So glibc has to copy
/// and clear with vector instructions.
const NO_REP: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000";

/// mimalloc gives memory back to the kernel when it was unused for a while. A run is so slow that this falls between two
/// batches, or into one, by the clock. So it never gives any back.
const NO_PURGE: &str = "-1";

/// The profile of a whole run; its file stays in `dir`.
pub fn profile(row: &Row, dir: &Path) -> Result<Profile, Failure> {
    let file = dir.join(format!("{}.callgrind", row.name));
    std::fs::create_dir_all(dir)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"])
        .args(["--toggle-collect=*counted_batch*", "--toggle-collect=*counted_change*"])
        .args(["--zero-before=*counting_begins*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["--run", row.name])
        .env("GLIBC_TUNABLES", NO_REP)
        .env("MIMALLOC_PURGE_DELAY", NO_PURGE)
        .output()
        .map_err(|why| format!("valgrind does not start: {why}; install it: apt-get install valgrind"))?;
    if !output.status.success() {
        return Err(format!("row {}: {}", row.name, String::from_utf8_lossy(&output.stderr).trim_end()).into());
    }
    let profile = Profile::read(&std::fs::read_to_string(&file)?);
    profile.ok_or_else(|| format!("{}: not a profile of what is counted", file.display()).into())
}

/// What counts depend on beside the code. The processor is always the same: valgrind's own, as long as the real one has
/// AVX2 like it.
pub fn tools() -> Result<String, Failure> {
    let version = |program: &str| -> Result<String, Failure> {
        let output = Command::new(program).arg("--version").output().map_err(|why| format!("{program}: {why}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    Ok(format!("{}, {}", version("rustc")?, version("valgrind")?))
}
