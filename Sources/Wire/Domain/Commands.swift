package import Media

/// What a running agent is asked to do (`proto/README.md`, "Commands").
package struct Command: Hashable, Sendable {
    /// Chosen by who asks; the report has the same.
    package var id: UInt64
    /// The source's place in Hello.
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
    /// What can be set at the camera.
    case controls
    /// All of it or nothing.
    case change(CaptureChange)
    /// The next picture becomes a keyframe.
    case keyframe
    /// The next picture as a JPEG.
    case snapshot
    /// One that this version has no word for.
    case unknown
}

/// Several changes that happen together, or not at all; what is nil stays as it is.
package struct CaptureChange: Hashable, Sendable {
    /// A choice that can be taken back: the source's own, or all of the picture.
    package enum Choice<Value: Hashable & Sendable>: Hashable, Sendable {
        case own
        case this(Value)
    }

    /// Something to set at the camera.
    package struct Setting: Hashable, Sendable {
        package var name: String
        package var value: Int64

        package init(name: String, value: Int64) {
            self.name = name
            self.value = value
        }
    }

    package var isCapturing: Bool?
    /// In the words of the agent's `--video` and `--audio`.
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

    package init() {}

    /// Nothing is to be changed.
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
    /// Why not, and one line for people.
    case failure(CommandFailure, String)
    /// To `status`, and to `change`: what is in force behind it.
    case status(CaptureStatus)
    case controls([DeviceControl])
    case keyframeRequested
    /// The JPEG travels beside it.
    case snapshot(SnapshotDescription)
    /// One that this version has no word for.
    case unknown
}

/// Why a command is not done; the raw value is the one on the wire.
package enum CommandFailure: Int, CaseIterable, Hashable, Sendable {
    case other = 0
    case malformed = 1
    case unknownCommand = 2
    /// It cannot be done as asked; nothing has changed.
    case refused = 3
    case busy = 4
    case notConnected = 5
    case noAnswer = 6
    /// It failed midway, and what was before could not be brought back.
    case notRestored = 7
}

/// What an agent captures, and how it does.
package struct CaptureStatus: Hashable, Sendable {
    package var isCapturing = false
    package var video = ""
    package var audio = ""
    /// One line for each track.
    package var descriptions: [String] = []
    /// Of the encoded pictures; nil: there are none.
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

    package init() {}
}

/// Something that can be set at a camera.
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
    /// As the driver calls it.
    package var label: String
    package var kind: Kind
    package var range: ClosedRange<Int64>
    package var step: Int64
    package var defaultValue: Int64
    package var value: Int64
    package var choices: [Choice] = []
    /// Another control has taken over.
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

/// What a snapshot is of.
package struct SnapshotDescription: Hashable, Sendable {
    package var width: UInt32
    package var height: UInt32
    /// Agent's clock.
    package var captureNanoseconds: Int64
    /// Of the JPEG.
    package var sizeBytes: Int

    package init(width: UInt32, height: UInt32, captureNanoseconds: Int64, sizeBytes: Int) {
        self.width = width
        self.height = height
        self.captureNanoseconds = captureNanoseconds
        self.sizeBytes = sizeBytes
    }
}
