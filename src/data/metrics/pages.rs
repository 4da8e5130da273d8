use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Items in the order of their time, in pages that clones share. A snapshot that keeps the pages of an hour costs only a
/// copy of the page that is still written to.
#[derive(Debug, Clone, PartialEq)]
pub struct Pages<T> {
    pages: VecDeque<Arc<Page<T>>>,
}

/// All items of `SPAN` neighbouring times.
#[derive(Debug, Clone, PartialEq)]
struct Page<T> {
    number: i64,
    items: Vec<T>,
}

/// An item that has a time, such as a second or a tenth of one.
pub trait Timed: Clone {
    /// How many times a page covers.
    const SPAN: i64;
    /// How many pages are kept.
    const PAGES: usize;

    /// An empty item of this time.
    fn empty(time: i64) -> Self;

    /// Its time.
    fn time(&self) -> i64;
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { pages: VecDeque::new() }
    }
}

impl<T: Timed + Serialize> Serialize for Pages<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Timed + Deserialize<'de>> Deserialize<'de> for Pages<T> {
    /// Takes the items as they are: a series that we wrote has all its seconds, and for any other file we make none up.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut items = Vec::<T>::deserialize(deserializer)?;
        items.sort_by_key(Timed::time);
        let mut pages = Self::default();
        for item in items {
            if let Some(place) = pages.at(item.time()) {
                *place = item;
            }
        }
        Ok(pages)
    }
}

impl<T: Timed> Pages<T> {
    /// The item of this time, which is added if it is missing; `None` if it is older than the items that are kept.
    pub fn at(&mut self, time: i64) -> Option<&mut T> {
        let number = time.div_euclid(T::SPAN);
        let mut place = self.pages.partition_point(|page| page.number < number);
        if self.pages.get(place).is_none_or(|page| page.number != number) {
            if self.pages.len() == T::PAGES {
                // The oldest page makes room only for something newer than itself.
                place = place.checked_sub(1)?;
                self.pages.pop_front();
            }
            let items = Vec::with_capacity(usize::try_from(T::SPAN).unwrap_or_default());
            self.pages.insert(place, Arc::new(Page { number, items }));
        }
        // Snapshots that are being drawn keep the page that they have.
        let items = &mut Arc::make_mut(self.pages.get_mut(place)?).items;
        let place = items.partition_point(|item| item.time() < time);
        if items.get(place).is_none_or(|item| item.time() != time) {
            items.insert(place, T::empty(time));
        }
        items.get_mut(place)
    }

    /// The items, oldest first.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.pages.iter().flat_map(|page| &page.items)
    }

    /// The newest item.
    #[must_use]
    pub fn newest(&self) -> Option<&T> {
        self.pages.back()?.items.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Timed for i64 {
        const SPAN: i64 = 10;
        const PAGES: usize = 3;

        fn empty(time: i64) -> Self {
            time
        }

        fn time(&self) -> i64 {
            *self
        }
    }

    fn of(times: impl IntoIterator<Item = i64>) -> Pages<i64> {
        let mut pages = Pages::default();
        for time in times {
            pages.at(time);
        }
        pages
    }

    #[test]
    fn items_are_in_the_order_of_their_time_whenever_they_come() {
        let pages = of([7, -3, 12, 8, 7, -1]);
        assert_eq!(pages.iter().copied().collect::<Vec<_>>(), [-3, -1, 7, 8, 12]);
        assert_eq!(pages.newest(), Some(&12));
    }

    #[test]
    fn the_oldest_page_goes_and_what_is_older_than_all_is_not_taken_in() {
        let mut pages = of(0..35);
        assert_eq!(pages.iter().copied().collect::<Vec<_>>(), (10..35).collect::<Vec<_>>());
        assert_eq!(pages.at(9), None);
        assert_eq!(pages.iter().count(), 25);
    }

    #[test]
    fn clones_share_all_pages_but_those_that_are_written_to() {
        let mut pages = of(0..25);
        let seen = pages.clone();
        pages.at(25);
        assert!((0..2).all(|page| Arc::ptr_eq(&pages.pages[page], &seen.pages[page])));
        assert!(!Arc::ptr_eq(&pages.pages[2], &seen.pages[2]));
        assert_eq!(seen.newest(), Some(&24));
    }
}
