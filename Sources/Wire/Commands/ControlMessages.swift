/// What a person at the server asks of a running collector (`proto/README.md`, "Control").
package struct ControlRequest: Hashable, Sendable {
    package enum Request: Hashable, Sendable {
        /// End the session of this name; nil: whichever is being recorded.
        case stopSession(String?)
        /// Have the agent do something that sends this source; nil: the only one there is.
        case command(CommandRequest, source: String?)
        /// Say how you do.
        case metrics
        /// One that this version has no word for.
        case unknown
    }

    /// Chosen by who asks; the reply has the same.
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
        /// What an agent answered; a snapshot comes with its JPEG.
        case report(CommandReply, payload: [UInt8])
        /// How it does, as its `/metrics` has it (Prometheus' text format).
        case metrics(String)
        /// Why not, and one line for people.
        case failure(ControlFailure, String)
        /// One that this version has no word for.
        case unknown
    }

    package var id: UInt64
    package var reply: Reply

    package init(id: UInt64, reply: Reply) {
        self.id = id
        self.reply = reply
    }
}

/// Why a collector does not do what it was asked; the raw value is the one on the wire.
package enum ControlFailure: Int, CaseIterable, Hashable, Sendable {
    /// A reason that this version has no word for.
    case other = 0
    case malformed = 1
    case version = 2
    case unknownRequest = 3
    case noSession = 4
    case stopping = 5
}

/// A session that was ended, whose files are final.
package struct StoppedSession: Hashable, Sendable {
    package struct Source: Hashable, Sendable {
        package var name: String
        /// Since the collector was started.
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

/// Why a request was not read: what it is answered with.
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
