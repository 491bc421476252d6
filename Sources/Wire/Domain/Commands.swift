package import Media

/// A command to a running agent (`proto/README.md`, "Commands").
package struct Command: Hashable, Sendable {
    /// Chosen by the requester; the report has the same.
    package var id: UInt64
    /// The source's index in Hello.
    package var source: Int
    package var request: CommandRequest

    package init(id: UInt64, source: Int, request: CommandRequest) {
        self.id = id
        self.source = source
        self.request = request
    }
}

/// The command itself.
package enum CommandRequest: Hashable, Sendable {
    case status
    /// List the controls of the camera.
    case controls
    /// Apply all changes, or none.
    case change(CaptureChange)
    /// Encode the next picture as a keyframe.
    case keyframe
    /// Return the next picture as a JPEG.
    case snapshot
    /// Unknown to this version.
    case unknown

    /// Whether it chooses files or devices of the box.
    package var choosesDevices: Bool {
        if case .change(let change) = self {
            change.video != nil || change.audio != nil
        } else {
            false
        }
    }
}

/// The commands that people give: words of the command line and of the viewer's API.
package enum AgentCommandName: String, CaseIterable, Decodable, Sendable {
    case status, set, start, stop, controls, keyframe, snapshot

    /// Nil: its argument is a change.
    package var request: CommandRequest? {
        switch self {
        case .status: .status
        case .set: nil
        case .start: .change(CaptureChange(isCapturing: true))
        case .stop: .change(CaptureChange(isCapturing: false))
        case .controls: .controls
        case .keyframe: .keyframe
        case .snapshot: .snapshot
        }
    }
}

/// Several changes that are applied together, or not at all; nil: unchanged.
package struct CaptureChange: Hashable, Sendable {
    /// A value that can be reset: to the source's own, or to the whole picture.
    package enum Choice<Value: Hashable & Sendable>: Hashable, Sendable {
        case own
        case this(Value)
    }

    /// A camera control and its value.
    package struct Setting: Hashable, Sendable {
        package var name: String
        package var value: Int64

        package init(name: String, value: Int64) {
            self.name = name
            self.value = value
        }
    }

    package var isCapturing: Bool?
    /// In the syntax of the agent's `--video` and `--audio`.
    package var video: String?
    package var audio: String?
    package var size: Choice<PictureSize>?
    package var frameRate: Choice<FrameRate>?
    /// Bits per second.
    package var videoBitrate: UInt64?
    package var crop: Choice<PictureCrop>?
    package var rotation: PictureOrientation.Rotation?
    package var isMirrored: Bool?
    package var controls: [Setting] = []

    package init(isCapturing: Bool? = nil) { self.isCapturing = isCapturing }

    /// Whether it changes nothing.
    package var isEmpty: Bool { self == CaptureChange() }
}

/// The answer to one command.
package struct Report: Hashable, Sendable {
    package var id: UInt64
    package var source: Int
    package var reply: CommandReply

    package init(id: UInt64, source: Int, reply: CommandReply) {
        self.id = id
        self.source = source
        self.reply = reply
    }
}

/// The answer itself.
package enum CommandReply: Hashable, Sendable {
    /// The reason, and one line of text.
    case failure(CommandFailure, String)
    /// The answer to `status`, and to `change`: the settings then in force.
    case status(CaptureStatus)
    case controls([DeviceControl])
    case keyframeRequested
    /// The JPEG is the payload part.
    case snapshot(SnapshotDescription)
    /// Unknown to this version.
    case unknown

    /// Size of the payload part; nil: it has none.
    package var payloadSizeBytes: Int? {
        if case .snapshot(let snapshot) = self { snapshot.sizeBytes } else { nil }
    }
}

/// Why a command was not executed; the raw value is the one on the wire.
package enum CommandFailure: Int, CaseIterable, Hashable, Sendable {
    case other = 0
    case malformed = 1
    case unknownCommand = 2
    /// It cannot be executed as requested; nothing has changed.
    case refused = 3
    case busy = 4
    case notConnected = 5
    case noAnswer = 6
    /// It failed midway, and the previous state could not be restored.
    case notRestored = 7
}

/// The capture settings and state of an agent.
package struct CaptureStatus: Hashable, Sendable {
    package var isCapturing = false
    package var video = ""
    package var audio = ""
    /// One line for each track.
    package var descriptions: [String] = []
    /// Size of the encoded pictures; nil without any.
    package var size: PictureSize?
    package var videoBitrate: UInt64 = 0
    package var crop: PictureCrop?
    package var orientation = PictureOrientation.upright
    package var pictures: UInt64 = 0
    package var soundPackets: UInt64 = 0
    package var lostSamples: UInt64 = 0
    package var keptBytes: UInt64 = 0
    package var isConnected = false
    package var software = ""
    /// The endpoint of the collector that the source is sent to.
    package var collector = ""
    /// The previous collector, and the reason of the change; empty: none since the start.
    package var moved = ""
    /// Number of records that other collectors have and the box has not, by their names.
    package var held: [String: UInt64] = [:]
    /// The collector that gets the same records; nil: one is enough.
    package var second: SecondCollector?
    /// Bytes that the box keeps for each collector that lacks them; empty with one collector.
    package var owed: [OwedRecords] = []
    /// Time until the box's storage is full, at the present rate; nil: unknown.
    package var lastsSeconds: UInt64?
    /// Why the source, or one of its tracks, is not captured, although no command has stopped it; empty: it is captured, or
    /// stopped by a command. While the agent waits for a camera that is away, ``isCapturing`` is true.
    package var trouble = ""
    /// Time until the next attempt to capture it; nil: it is captured or stopped, or an attempt is under way.
    package var retrySeconds: UInt64?

    package init() {}

    /// The trouble and the next attempt, as the rest of a sentence.
    package var obstacle: String {
        let next = retrySeconds.map { "; next attempt in \($0) s" } ?? ""
        return (isCapturing ? "" : "not capturing: ") + "\(trouble)\(next)"
    }

    /// One of two collectors that have to have every record.
    package struct SecondCollector: Hashable, Sendable {
        package var endpoint: String
        package var isConnected: Bool
        /// Why it is not; empty: unknown.
        package var trouble: String

        package init(endpoint: String, isConnected: Bool, trouble: String = "") {
            self.endpoint = endpoint
            self.isConnected = isConnected
            self.trouble = trouble
        }
    }
}

/// A camera control.
package struct DeviceControl: Hashable, Sendable {
    package enum Kind: Int, CaseIterable, Hashable, Sendable {
        case other = 0
        case number = 1
        case toggle = 2
        case menu = 3
        case button = 4
    }

    package struct Choice: Hashable, Sendable {
        package var value: Int64
        package var label: String

        package init(value: Int64, label: String) {
            self.value = value
            self.label = label
        }
    }

    package var name: String
    /// The driver's name for it.
    package var label: String
    package var kind: Kind
    package var range: ClosedRange<Int64>
    package var step: Int64
    package var defaultValue: Int64
    package var value: Int64
    package var choices: [Choice] = []
    /// Another control overrides it.
    package var isInactive = false
    package var isReadOnly = false

    package init(
        name: String, label: String, kind: Kind, range: ClosedRange<Int64>, step: Int64,
        defaultValue: Int64, value: Int64
    ) {
        self.name = name
        self.label = label
        self.kind = kind
        self.range = range
        self.step = step
        self.defaultValue = defaultValue
        self.value = value
    }
}

/// The description of a snapshot.
package struct SnapshotDescription: Hashable, Sendable {
    package var width: UInt32
    package var height: UInt32
    /// Agent's clock.
    package var captureNanoseconds: Int64
    /// Size of the JPEG.
    package var sizeBytes: Int

    package init(width: UInt32, height: UInt32, captureNanoseconds: Int64, sizeBytes: Int) {
        self.width = width
        self.height = height
        self.captureNanoseconds = captureNanoseconds
        self.sizeBytes = sizeBytes
    }
}
