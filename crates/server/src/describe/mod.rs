//! The description of the API, told by the handlers themselves.
//!
//! Why    what a handler takes and answers stands in its signature, and the compiler holds it to that. A description that somebody
//!        writes beside it says the same a second time, and differs one day (decision 0025). Only words are written, in one table.

mod asks;
mod document;
mod operation;
mod replies;
mod schemas;
mod words;

pub use document::document;
pub use operation::Operation;
pub use replies::{Created, Empty, MadeOrThere, MadeOrTried, Tagged, TakenOrKept};

/// Something that a handler is given.
pub trait Asks {
    fn ask(about: &mut Operation);
}

/// Something that a handler answers.
pub trait Answers {
    fn answer(about: &mut Operation);
}

/// A handler, by the types of what it is given.
pub trait Described<Given> {
    fn describe(about: &mut Operation);
}

macro_rules! described {
    ($($given:ident)*) => {
        impl<F, Later, $($given,)*> Described<($($given,)*)> for F
        where
            F: FnOnce($($given),*) -> Later,
            Later: Future,
            Later::Output: Answers,
            $($given: Asks,)*
        {
            fn describe(about: &mut Operation) {
                $($given::ask(about);)*
                <Later::Output as Answers>::answer(about);
            }
        }
    };
}

described!();
described!(A);
described!(A B);
described!(A B C);
described!(A B C D);
described!(A B C D E);
described!(A B C D E G);

/// What stands before the name of a handler in its path.
const ABOVE: [&str; 3] = ["stepfast_server::", "api::", "web::"];

/// What a handler is called in the document: `api::steps::list` is `steps_list`.
pub fn name_of<H>() -> String {
    let mut name = std::any::type_name::<H>();
    let is_page = name.contains("::web::");
    for above in ABOVE {
        name = name.strip_prefix(above).unwrap_or(name);
    }
    let name = name.replace("::", "_");
    if is_page { format!("page_{name}") } else { name }
}
