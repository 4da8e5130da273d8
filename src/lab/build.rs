//! Builds the library that servers are started with for faults of clocks and power (`preload/preload.c`), for the system that the program will run on.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let source = "preload/preload.c";
    println!("cargo::rerun-if-changed={source}");
    let library = Path::new(&env::var("OUT_DIR")?).join("preload.so");
    if env::var("CARGO_CFG_TARGET_OS")? != "linux" || env::var("CARGO_CFG_TARGET_POINTER_WIDTH")? != "64" {
        // Without it there are no such faults.
        fs::write(library, [])?;
        return Ok(());
    }
    let compiler = cc::Build::new().opt_level(2).warnings(true).try_get_compiler()?;
    let mut command = compiler.to_command();
    command
        .args(["-shared", "-fPIC", "-nostdlib", "-s", "-o"])
        .arg(&library)
        .arg(source);
    let built = command.output()?;
    match built.status.success() {
        true => Ok(()),
        false => Err(format!("{source}: {}", String::from_utf8_lossy(&built.stderr)).into()),
    }
}
