//! Which programs `exec` may start.

use std::path::{Component, Path, PathBuf};

const ENTRIES_MAX: usize = 256;

/// Names that make a program load other code than its own, and so any program of any.
const LOADER_NAMES: [&str; 2] = ["GCONV_PATH", "GLIBC_TUNABLES"];
const LOADER_BEGINNINGS: [&str; 2] = ["LD_", "DYLD_"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExecAllow {
    /// Nothing is started.
    #[default]
    Nothing,
    Only(Vec<PathBuf>),
    Any,
}

impl ExecAllow {
    /// These programs. Every fault is told at once.
    pub fn only(paths: &[String]) -> Result<ExecAllow, Vec<String>> {
        if paths.len() > ENTRIES_MAX {
            return Err(vec![format!("{} entries; write at most {ENTRIES_MAX}", paths.len())]);
        }
        let strange = paths.iter().filter(|path| !is_whole(Path::new(path)));
        let faults: Vec<String> = strange
            .map(|path| format!("`{path}` is not a whole path; write for example `/usr/bin/convert`"))
            .collect();
        match (faults.is_empty(), paths.is_empty()) {
            (false, _) => Err(faults),
            (_, true) => Ok(ExecAllow::Nothing),
            _ => Ok(ExecAllow::Only(paths.iter().map(PathBuf::from).collect())),
        }
    }

    pub fn check(&self, program: &str) -> Result<(), String> {
        let path = Path::new(program);
        match self {
            ExecAllow::Nothing => Err(format!(
                "`exec` starts no programs here; an operator can allow this one with \
                 `[actions.exec] allow = [\"{program}\"]` in the server's configuration"
            )),
            ExecAllow::Any if is_whole(path) || !program.contains('/') => Ok(()),
            ExecAllow::Only(paths) if paths.iter().any(|p| p.as_os_str() == path.as_os_str()) => Ok(()),
            _ if !is_whole(path) => {
                Err(format!("`{program}` is not a whole path; write for example `/usr/bin/convert`"))
            }
            _ => Err(format!(
                "`{program}` is not among the programs `exec` may start; an operator can add it to \
                 `[actions.exec] allow` in the server's configuration"
            )),
        }
    }

    /// Whether a step may set this in the program's environment.
    pub fn check_name(&self, name: &str) -> Result<(), String> {
        let loads =
            LOADER_NAMES.contains(&name) || LOADER_BEGINNINGS.iter().any(|begins| name.starts_with(begins));
        if loads && *self != ExecAllow::Any {
            return Err(format!("`{name}` can make an allowed program run another one; leave it out"));
        }
        Ok(())
    }
}

/// From the root, and without `..`.
fn is_whole(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_may_start_and_only_as_it_is_named() {
        let only = ExecAllow::only(&["/bin/true".into()]).unwrap();
        assert_eq!(only.check("/bin/true"), Ok(()));
        for other in ["/bin/false", "/bin/true/", "/bin//true", "/bin/./true", "/bin/../bin/true", "true", ""]
        {
            assert!(only.check(other).is_err(), "{other}");
        }
    }

    #[test]
    fn any_program_means_a_whole_path_or_a_name_on_the_path() {
        for program in ["/bin/true", "true"] {
            assert_eq!(ExecAllow::Any.check(program), Ok(()));
        }
        for program in ["./true", "bin/true", "/bin/../bin/true"] {
            assert!(ExecAllow::Any.check(program).unwrap_err().contains("is not a whole path"), "{program}");
        }
    }

    #[test]
    fn an_empty_list_allows_nothing_and_says_what_to_write() {
        let nothing = ExecAllow::only(&[]).unwrap();
        assert_eq!(nothing, ExecAllow::Nothing);
        let refused = nothing.check("/bin/true").unwrap_err();
        assert!(refused.contains("[actions.exec] allow = [\"/bin/true\"]"), "{refused}");
    }

    #[test]
    fn a_list_of_parts_of_paths_is_refused() {
        let faults = ExecAllow::only(&["convert".into(), "/bin/../x".into(), "/bin/ok".into()]).unwrap_err();
        assert_eq!(faults.len(), 2, "{faults:?}");
    }

    #[test]
    fn a_list_of_programs_is_not_opened_by_the_loader() {
        let only = ExecAllow::only(&["/bin/true".into()]).unwrap();
        assert!(only.check_name("LD_PRELOAD").is_err());
        assert!(only.check_name("GCONV_PATH").is_err());
        assert!(only.check_name("TZ").is_ok());
        assert!(ExecAllow::Any.check_name("LD_PRELOAD").is_ok());
    }
}
