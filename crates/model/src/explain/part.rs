//! The parts of a request's latency, in the order in which reports list them: nearly that in which a request comes to
//! them, whatever the family of its drive.

/// Defines the parts. The sentence on each is its documentation here and what reports show.
macro_rules! parts {
    ($($part:ident $name:literal $of_host:literal $meaning:literal)*) => {
        /// A part of a request's latency.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Part {
            $(#[doc = $meaning] $part,)*
        }

        impl Part {
            /// All parts.
            pub const ALL: [Part; [$($name),*].len()] = [$(Part::$part),*];

            /// Returns the name that reports show.
            pub fn name(self) -> &'static str {
                match self { $(Part::$part => $name,)* }
            }

            /// Returns in one sentence what it is.
            pub fn meaning(self) -> &'static str {
                match self { $(Part::$part => $meaning,)* }
            }

            /// Whether the time passes in the computer, not in the drive.
            pub fn is_of_host(self) -> bool {
                match self { $(Part::$part => $of_host,)* }
            }
        }
    };
}

parts! {
    Submit "submission" true "The thread prepares the request and calls the kernel."
    Noise "noise" true "The thread does not run, or is slower than usual."
    LowPower "low power" false "The drive leaves a low-power state."
    Throttle "throttling" false "The drive is hot and limits its rate."
    Entry "entry" false "All entries of the drive's queue are taken."
    Queue "queue" false "The pipe, the controller or the arm serves other requests first."
    Turnaround "turnaround" false "The pipe changes between reads and writes, for this request or one before it."
    Pipe "pipe" false "The pipe serves the request."
    Controller "controller" false "The controller processes the command."
    ReadWait "wait for a read" false "The die reads for other requests first."
    ProgramWait "wait for a program" false "The die programs data of the host first."
    CollectionWait "wait for collection" false "The die makes room first: it moves data or erases a block."
    PageRead "page read" false "The die reads the page."
    Retry "retry" false "The die reads the page again."
    ChannelWait "channel queue" false "The channel serves other requests first."
    Stall "stall" false "3D XPoint: the channel stalls, for this request or one before it. Flash: the die stalls before this read."
    Background "background" false "The drive works for itself, and not to make room for writes."
    Channel "channel" false "Flash: the data crosses the channel between die and controller. 3D XPoint: the media serves the request."
    Fixed "fixed latency" false "A constant time, for which the request holds up no other."
    Seek "seek" false "The arm moves to the track."
    Rotation "rotation" false "The sector comes round."
    Transfer "transfer" false "The sectors pass the head."
    Link "link" false "The data waits for the link and crosses it."
    Intake "intake" false "The controller takes the data into the write buffer."
    Buffer "buffer" false "The write buffer has no room."
    Flush "flush" false "Data in the write buffer is programmed, for a sync."
    Jitter "jitter" false "A random time beside the fixed latency."
    IdleExit "idle exit" true "The CPU leaves an idle state before the thread wakes up."
    Notice "wake-up" true "The thread wakes up, or sees the completion by polling."
    Reap "busy thread" true "The thread does something else before it takes the completion."
}

impl Part {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}
