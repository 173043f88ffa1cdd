//! `apply`: store the definitions of files.
//!
//! Why    all files are read, and all of them tried, before the first is stored: one that is faulty or contradicts what is on record
//!        leaves everything as it was.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Apply, Common};
use crate::config::Settings;
use crate::door::{Door, DryRun};
use crate::files::{self, File};
use crate::screen::plain;
use anyhow::{Result, bail};
use model::Count;
use std::collections::HashMap;
use std::process::ExitCode;
use wire::DefinitionApplied;

pub async fn run(settings: &Settings, common: &Common, args: Apply) -> Result<ExitCode> {
    let files = files::read_sound(&args.paths)?;
    tell_apart(&files)?;
    let by = whoever(args.by);
    let door = Door::open(settings, common.server.as_deref(), "apply")?;
    let applied = apply_all(&door, &files, &by, DryRun::of(args.dry_run)).await;
    door.close().await?;
    for (file, applied) in files.iter().zip(applied?) {
        if common.json { output::line(&applied) } else { told(&file.name, &applied, args.dry_run) }
    }
    Ok(ExitCode::SUCCESS)
}

/// Try all, then store all.
pub async fn apply_all(
    door: &Door,
    files: &[File],
    by: &str,
    dry_run: DryRun,
) -> Result<Vec<DefinitionApplied>> {
    let mut applied = Vec::with_capacity(files.len());
    for file in files {
        applied.push(door.apply(file, DryRun::Yes, by).await?);
    }
    if dry_run == DryRun::No {
        for file in files {
            door.apply(file, DryRun::No, by).await?;
        }
    }
    Ok(applied)
}

/// Two files must not say different things under one version.
pub fn tell_apart(files: &[File]) -> Result<()> {
    let mut seen: HashMap<(&str, &str), &File> = HashMap::new();
    for file in files {
        let (key, version) = (&*file.definition.workflow, &*file.definition.version);
        if let Some(other) = seen.insert((key, version), file)
            && other.definition != file.definition
        {
            let (one, two) = (&other.name, &file.name);
            bail!(Refused(format!(
                "{one} and {two} both are version {version} of `{key}` and say different things; give one another version"
            )));
        }
    }
    Ok(())
}

fn told(name: &str, applied: &DefinitionApplied, dry_run: bool) {
    let DefinitionApplied { workflow, version, outcome, changes, live, .. } = applied;
    let would = if dry_run && outcome == "created" { "would be " } else { "" };
    output::text(format_args!("{workflow}@{version} {would}{outcome} ({name})"));
    changes.iter().for_each(|change| output::text(format_args!("  {}", plain(change))));
    for other in live {
        let stay = format!("  still on {}: {}", other.version, Count(other.running, "live run"));
        if other.would_break.is_empty() {
            output::text(format_args!("{stay}; they could be moved"));
        } else {
            output::text(format_args!("{stay}; moved, they would break:"));
            other.would_break.iter().for_each(|why| output::text(format_args!("    {}", plain(why))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, action: &str) -> File {
        let text = format!("workflow: a\nversion: 1.0.0\nsteps:\n- {{key: s, action: {action}}}\n");
        let definition = definition::read(text.as_bytes(), name).unwrap().definition;
        File { name: name.into(), text: text.into(), definition }
    }

    #[test]
    fn two_files_of_one_version_must_say_the_same() {
        assert!(tell_apart(&[file("a.yaml", "x"), file("b.yaml", "x")]).is_ok());
        let told = tell_apart(&[file("a.yaml", "x"), file("b.yaml", "y")]).unwrap_err().to_string();
        assert!(told.starts_with("a.yaml and b.yaml both are version 1.0.0 of `a`"), "{told}");
    }
}
