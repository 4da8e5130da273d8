//! The server program in an image.

use std::time::Duration;

use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::container::Container;
use super::engine::{Engine, is_missing, said};
use super::labels::Labels;
use crate::server::binary::PROGRAMS;

/// How long a program may take to say its version; a container of a busy engine starts within seconds.
const ANSWER: Duration = Duration::from_secs(30);

/// The program of the image, and what it prints for `--version`.
pub(crate) async fn program_of(engine: &Engine, image: &str, labels: &Labels) -> Result<(String, String), String> {
    fetch(engine, image).await?;
    let mut last = String::new();
    for program in PROGRAMS {
        match version(engine, image, program, labels).await {
            Ok(said) => return Ok((program.to_owned(), said)),
            Err(error) => last = error,
        }
    }
    Err(format!(
        "the image {image} has neither redis-server nor valkey-server on its PATH ({last}): name another one with --image"
    ))
}

/// Pulls the image if it is not here.
async fn fetch(engine: &Engine, image: &str) -> Result<(), String> {
    match engine.0.inspect_image(image).await {
        Ok(_) => return Ok(()),
        Err(error) if is_missing(&error) => {}
        Err(error) => return Err(format!("cannot look for the image {image}: {}", said(error))),
    }
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    };
    let options = CreateImageOptionsBuilder::new().from_image(name).tag(tag).build();
    let mut pulled = std::pin::pin!(engine.0.create_image(Some(options), None, None));
    while let Some(progress) = pulled.next().await {
        progress.map_err(|error| {
            format!(
                "the image {image} is not here and could not be pulled ({}): `docker pull {image}` where there is a network, or make \
                 one of this machine's redis-server with docker/local-image, and name it with --image",
                said(error)
            )
        })?;
    }
    Ok(())
}

/// What the program prints for `--version`.
async fn version(engine: &Engine, image: &str, program: &str, labels: &Labels) -> Result<String, String> {
    let container = Container::create_asked(engine, image, program, &["--version"], labels).await?;
    let printed = async {
        // From before it starts, because nothing of it is left when it has ended.
        let mut lines = container.start_attached(false).await?.output;
        let mut printed = String::new();
        while let Some(Ok(part)) = lines.next().await {
            printed.push_str(&part.to_string());
        }
        Ok::<_, String>(printed)
    };
    let printed = timeout(ANSWER, printed).await.unwrap_or_else(|_| {
        let seconds = ANSWER.as_secs();
        Err(format!("`{program} --version` did not end within {seconds} s"))
    });
    let removed = container.remove().await;
    let printed = printed?;
    removed.map(|()| printed)
}
