/// A request to a running collector from a program on the server (`proto/README.md`, "Control").
package struct ControlRequest: Hashable, Sendable {
    package enum Request: Hashable, Sendable {
        /// End the session of this name; nil: the one being recorded.
        case stopSession(String?)
        /// Send a command to the agent of this source; nil: the only source.
        case command(CommandRequest, source: String?)
        /// The requesting program has changed the session of this name: retimed, imported, named, protected or removed
        /// it.
        case sessionChanged(String)
        /// Edit a session's metadata, or remove it.
        case changeSession(SessionChange)
        /// Start or cancel a drain: move agents to another collector if they have one.
        case drain(isCancelled: Bool, collector: String?)
        /// Return the status.
        case status
        /// Unknown to this version.
        case unknown
    }

    /// Chosen by the requester; the reply has the same.
    package var id: UInt64
    package var request: Request

    package init(id: UInt64, request: Request) {
        self.id = id
        self.request = request
    }
}

/// The answer to one request.
package struct ControlReply: Hashable, Sendable {
    package enum Reply: Hashable, Sendable {
        case sessionStopped(StoppedSession)
        /// An agent's answer; a snapshot comes with its JPEG.
        case report(CommandReply, payload: [UInt8])
        /// The change has been published to all listeners.
        case changeTold
        /// Progress of a drain.
        case draining(DrainProgress)
        /// The status: a JSON document (`proto/json/schema.json`, "tributary top").
        case status([UInt8])
        /// The reason, and one line of text.
        case failure(ControlFailure, String)
        /// Unknown to this version.
        case unknown
    }

    package var id: UInt64
    package var reply: Reply

    package init(id: UInt64, reply: Reply) {
        self.id = id
        self.reply = reply
    }
}

/// Progress of a drain.
package struct DrainProgress: Hashable, Sendable {
    /// The collector's name; empty without one.
    package var collector: String
    /// Number of agents that are still to go.
    package var moving: Int
    /// Sources of agents that have no other collector.
    package var staying: [String]
    /// Number of sources, without those that stay, with received records that are not on disk yet.
    package var unwritten: Int
    /// Number of sources that left a moment ago: another collector may refuse them, and they come back.
    package var leaving: Int
    /// Sources that came back, because all other collectors of their agents have declined.
    package var returned: [String]

    package init(
        collector: String, moving: Int, staying: [String], unwritten: Int, leaving: Int = 0,
        returned: [String] = []
    ) {
        self.collector = collector
        self.moving = moving
        self.staying = staying
        self.unwritten = unwritten
        self.leaving = leaving
        self.returned = returned
    }

    /// Whether every source with another collector is recorded there, and all that it sent here is on disk.
    package var isDone: Bool {
        moving == 0 && leaving == 0 && returned.isEmpty && unwritten == 0
    }
}

/// Why a collector refuses a request; the raw value is the one on the wire.
package enum ControlFailure: Int, CaseIterable, Hashable, Sendable {
    /// A reason unknown to this version.
    case other = 0
    case malformed = 1
    case version = 2
    case unknownRequest = 3
    case noSession = 4
    case stopping = 5
    case refused = 6
}

/// A change of a session; nil: unchanged. Texts are untrusted: the code that applies the change checks them.
package struct SessionChange: Hashable, Sendable {
    /// A bookmarked instant of the session.
    package struct Mark: Hashable, Sendable {
        package var id: String
        /// Session time.
        package var atNanoseconds: Int64
        package var text: String
        /// `nil` for all sources.
        package var source: String?

        package init(id: String, atNanoseconds: Int64, text: String, source: String?) {
            self.id = id
            self.atNanoseconds = atNanoseconds
            self.text = text
            self.source = source
        }
    }

    /// The session.
    package var session: String
    /// Display name; empty: removed.
    package var name: String?
    /// Empty: removed.
    package var note: String?
    package var addedTags: [String] = []
    package var removedTags: [String] = []
    /// Whether it is protected from retention and removal.
    package var isProtected: Bool?
    /// A mark with an existing identifier replaces that one.
    package var addedMarks: [Mark] = []
    /// Identifiers.
    package var removedMarks: [String] = []
    /// Whether the session is removed, with all its recordings.
    package var isRemoval = false

    package init(of session: String) { self.session = session }
}

/// A session that was ended, and whose files are final.
package struct StoppedSession: Hashable, Sendable {
    package struct Source: Hashable, Sendable {
        package var name: String
        /// Counted since the collector was started.
        package var pictures: UInt64
        package var soundPackets: UInt64
        package var payloadBytes: UInt64
        package var lostSamples: UInt64

        package init(
            name: String, pictures: UInt64, soundPackets: UInt64, payloadBytes: UInt64,
            lostSamples: UInt64
        ) {
            self.name = name
            self.pictures = pictures
            self.soundPackets = soundPackets
            self.payloadBytes = payloadBytes
            self.lostSamples = lostSamples
        }
    }

    package var name: String
    /// From zero to the end.
    package var durationNanoseconds: Int64
    package var sources: [Source]

    package init(name: String, durationNanoseconds: Int64, sources: [Source]) {
        self.name = name
        self.durationNanoseconds = durationNanoseconds
        self.sources = sources
    }
}

/// Why a request could not be decoded, and the reply.
package struct ControlError: Error, Hashable, Sendable {
    package var id: UInt64
    package var failure: ControlFailure
    package var text: String

    package init(id: UInt64 = 0, failure: ControlFailure, text: String) {
        self.id = id
        self.failure = failure
        self.text = text
    }
}
