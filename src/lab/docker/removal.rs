use futures_util::future::join_all;

use super::claim;
use super::container::{self, Container};
use super::engine::Engine;
use super::labels::Labels;
use super::network;

/// Removes all containers and networks with these labels, even paused ones, and returns how many containers that were. What says
/// whether the run is alive goes last: until then others know what to think of the rest.
///
/// # Errors
/// In words. What could be removed is gone then.
pub(crate) async fn remove_all(engine: &Engine, labels: &Labels) -> Result<usize, String> {
    let mut failed = None;
    let containers = container::list(engine, labels).await?;
    let count = containers.len();
    let (claims, nodes): (Vec<_>, Vec<_>) = containers.into_iter().partition(claim::is_one);
    for group in [nodes, claims] {
        let group: Vec<_> = group
            .into_iter()
            .filter_map(|found| Some(Container::new(engine, found.id?)))
            .collect();
        let removals = group.iter().map(Container::remove);
        for error in join_all(removals).await.into_iter().filter_map(Result::err) {
            failed.get_or_insert(error);
        }
    }
    if let Err(error) = network::remove_all(engine, labels).await {
        failed.get_or_insert(error);
    }
    failed.map_or(Ok(count), Err)
}
