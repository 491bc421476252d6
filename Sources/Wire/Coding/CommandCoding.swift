import Media
import SwiftProtobuf

extension Command {
    func encoded() -> Tributary_V1_Command {
        var message = Tributary_V1_Command()
        message.id = id
        message.source = UInt32(source)
        switch request {
        case .status: message.status = Tributary_V1_AskStatus()
        case .controls: message.controls = Tributary_V1_AskControls()
        case .change(let change): message.change = change.encoded()
        case .keyframe: message.keyframe = Tributary_V1_RequestKeyframe()
        case .snapshot: message.snapshot = Tributary_V1_TakeSnapshot()
        case .unknown: break
        }
        return message
    }

    init(decoding message: Tributary_V1_Command) throws(WireError) {
        id = message.id
        source = try FieldChecks.sourceIndex(message.source, "Command.source")
        switch message.command {
        case .status: request = .status
        case .controls: request = .controls
        case .change(let change): request = .change(try CaptureChange(decoding: change))
        case .keyframe: request = .keyframe
        case .snapshot: request = .snapshot
        case nil: request = .unknown
        }
    }
}

extension CaptureChange {
    func encoded() -> Tributary_V1_Change {
        var message = Tributary_V1_Change()
        if let isCapturing { message.capture = isCapturing }
        if let video { message.video = video }
        if let audio { message.audio = audio }
        switch size {
        case .own: message.size = Tributary_V1_Size()
        case .this(let size): message.size = size.encoded()
        case nil: break
        }
        switch frameRate {
        case .own: message.frameRate = Tributary_V1_Rate()
        case .this(let rate):
            message.frameRate = .with {
                $0.numerator = UInt32(clamping: rate.numerator)
                $0.denominator = UInt32(clamping: rate.denominator)
            }
        case nil: break
        }
        if let videoBitrate { message.videoBitrate = videoBitrate }
        switch crop {
        case .own: message.crop = Tributary_V1_Rectangle()
        case .this(let crop): message.crop = crop.encoded()
        case nil: break
        }
        if let rotation { message.rotation = UInt32(rotation.rawValue) }
        if let isMirrored { message.mirrored = isMirrored }
        message.controls = controls.map { setting in
            .with {
                $0.name = setting.name
                $0.value = setting.value
            }
        }
        return message
    }

    init(decoding message: Tributary_V1_Change) throws(WireError) {
        self.init()
        if message.hasCapture { isCapturing = message.capture }
        if message.hasVideo {
            video = try FieldChecks.argument(message.video, "Change.video")
        }
        if message.hasAudio {
            audio = try FieldChecks.argument(message.audio, "Change.audio")
        }
        if message.hasSize {
            size = try PictureSize(decoding: message.size, "Change.size").map(Choice.this) ?? .own
        }
        if message.hasFrameRate {
            frameRate = try Self.rate(message.frameRate).map(Choice.this) ?? .own
        }
        if message.hasVideoBitrate {
            guard (1...WireLimits.bitsPerSecond).contains(message.videoBitrate) else {
                throw .limit(
                    "Change.video_bitrate is \(message.videoBitrate); 1 to "
                        + "\(WireLimits.bitsPerSecond) bits per second are allowed")
            }
            videoBitrate = message.videoBitrate
        }
        if message.hasCrop {
            crop = try PictureCrop(decoding: message.crop, "Change.crop").map(Choice.this) ?? .own
        }
        if message.hasRotation {
            rotation = try PictureOrientation.Rotation(decoding: message.rotation)
        }
        if message.hasMirrored { isMirrored = message.mirrored }
        try FieldChecks.count(
            message.controls.count, "Change.controls", 0...WireLimits.controlsPerMessage)
        controls = []
        for setting in message.controls {
            controls.append(
                Setting(
                    name: try FieldChecks.text(
                        setting.name, "ControlSetting.name", limit: WireLimits.labelBytes),
                    value: setting.value))
        }
    }

    private static func rate(_ message: Tributary_V1_Rate) throws(WireError) -> FrameRate? {
        if message.numerator == 0 { return nil }
        guard let numerator = Int32(exactly: message.numerator),
            let denominator = Int32(exactly: message.denominator), denominator > 0
        else {
            throw .malformed(
                "Change.frame_rate is \(message.numerator)/\(message.denominator), which is not a valid rate"
            )
        }
        return FrameRate(numerator, per: denominator)
    }
}

extension PictureSize {
    func encoded() -> Tributary_V1_Size {
        .with {
            $0.width = UInt32(clamping: width)
            $0.height = UInt32(clamping: height)
        }
    }

    /// - Returns: nil if unset.
    init?(decoding message: Tributary_V1_Size, _ field: String) throws(WireError) {
        if message.width == 0, message.height == 0 { return nil }
        guard (1...WireLimits.pictureSide).contains(message.width),
            (1...WireLimits.pictureSide).contains(message.height)
        else {
            throw .limit(
                "\(field) is \(message.width)×\(message.height); 1 to "
                    + "\(WireLimits.pictureSide) pixels are allowed in each dimension")
        }
        self.init(width: Int(message.width), height: Int(message.height))
    }
}

extension PictureCrop {
    func encoded() -> Tributary_V1_Rectangle {
        .with {
            $0.x = UInt32(clamping: x)
            $0.y = UInt32(clamping: y)
            $0.width = UInt32(clamping: size.width)
            $0.height = UInt32(clamping: size.height)
        }
    }

    /// - Returns: nil if unset.
    init?(decoding message: Tributary_V1_Rectangle, _ field: String) throws(WireError) {
        if message.width == 0, message.height == 0 { return nil }
        let limit = WireLimits.pictureSide
        guard max(message.x, message.y, message.width, message.height) <= limit,
            let crop = PictureCrop(
                x: Int(message.x), y: Int(message.y),
                size: PictureSize(width: Int(message.width), height: Int(message.height)))
        else {
            throw .malformed(
                "\(field) is \(message.width)×\(message.height) at \(message.x), \(message.y); "
                    + "a crop rectangle needs even sides and an even position")
        }
        self = crop
    }
}

extension PictureOrientation.Rotation {
    init(decoding degrees: UInt32) throws(WireError) {
        guard let rotation = Self(rawValue: Int(degrees)) else {
            throw .malformed("a rotation by \(degrees)°; 0, 90, 180 and 270 are allowed")
        }
        self = rotation
    }
}

extension FieldChecks {
    /// A command-line argument: bounded in length, and without a terminating zero byte.
    static func argument(_ text: String, _ field: String) throws(WireError) -> String {
        guard text.utf8.count <= WireLimits.argumentBytes else {
            throw .limit(
                "\(field) has \(text.utf8.count) bytes; \(WireLimits.argumentBytes) are allowed")
        }
        guard !text.utf8.contains(0) else { throw .malformed("\(field) contains a zero byte") }
        return text
    }
}
