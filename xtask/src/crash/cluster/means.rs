//! What this machine lets the harness do: processes with a view of their own, and clocks that are wrong.

use super::fault::Means;
use crate::shell;
use std::path::PathBuf;
use std::process::Command;

pub fn means() -> Means {
    let means = Means {
        far: shell::answers(Command::new("unshare").args(["--pid", "--fork", "--kill-child", "--", "true"])),
        clock: faketime(),
    };
    if !means.far {
        println!("crash: `unshare` is refused here, so no node is far");
    }
    if means.clock.is_none() {
        println!("crash: libfaketime is not installed, so no clock is wrong");
    }
    means
}

/// Debian keeps it in a folder of the machine's kind.
pub fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let library = folders.filter_map(|folder| Some(folder.ok()?.path().join("faketime/libfaketimeMT.so.1")));
    library.filter(|path| path.is_file()).min()
}
