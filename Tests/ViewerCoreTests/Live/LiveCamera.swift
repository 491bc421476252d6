import Foundation
import Media
import Synchronization
import Testing
import Wire

@testable import ViewerCore

/// A message of a collector's feed, with its media.
struct LiveMessage {
    var samples: FeedSamples
    var media: [UInt8]
}

/// A camera with 25 pictures a second and synthetic messages of one picture each.
struct LiveCamera {
    static let pictureNanoseconds: Int64 = 40_000_000
    static let session = "2026-11-20T22-40-00.000Z"
    static let otherSession = "2026-11-20T23-00-00.000Z"
    /// 2026-11-20T22:40:00Z.
    static let zeroNanoseconds: Int64 = 1_795_214_400_000_000_000

    static let video = h264([0x68, 0xCE, 0x06, 0xE2])
    static let otherVideo = h264([0x68, 0xCE, 0x06, 0xE3])
    static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    static func h264(_ pictureParameterSet: [UInt8]) -> TrackFormat {
        .video(
            .h264(
                sequenceParameterSets: [
                    [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
                ],
                pictureParameterSets: [pictureParameterSet], width: 16, height: 16))
    }

    var source: String
    var session = Self.session
    var zeroUTCNanoseconds = Self.zeroNanoseconds
    var formats = [Self.video]
    /// Pictures from one keyframe to the next.
    var groupPictures = 25
    var pictureBytes = 100
    /// Number of the message before.
    var number: UInt64 = 0
    /// Number of the next picture, from the session's zero.
    var picture = 0

    init(_ source: String = "camera") { self.source = source }

    /// The next picture.
    mutating func next() -> LiveMessage {
        let ticks = Int64(picture) * 3_600
        let sample = FeedSamples.Sample(
            sizeBytes: UInt32(pictureBytes), dts: ticks, pts: ticks, duration: 3_600,
            flags: picture % groupPictures == 0 ? .keyframe : [])
        let run = FeedSamples.Run(
            track: .video, firstSequence: UInt64(picture + 1), samples: [sample])
        let media = [UInt8](
            repeating: UInt8(truncatingIfNeeded: picture), count: pictureBytes)
        picture += 1
        return message([run], media)
    }

    /// Sound alone: two packets, from where the picture before ends.
    mutating func sound() -> LiveMessage {
        let start = Int64(picture) * 1_920
        let samples = [start, start + 960].map { ticks in
            FeedSamples.Sample(
                sizeBytes: 3, dts: ticks, pts: ticks, duration: 960, flags: .keyframe)
        }
        let run = FeedSamples.Run(track: .audio, firstSequence: 1, samples: samples)
        return message([run], [1, 2, 3, 4, 5, 6])
    }

    /// A message, which the collector has half a second after the session's zero.
    mutating func message(_ runs: [FeedSamples.Run], _ media: [UInt8]) -> LiveMessage {
        number &+= 1
        return LiveMessage(
            samples: FeedSamples(
                session: session, zeroUTCNanoseconds: zeroUTCNanoseconds, source: source,
                number: number, formats: formats, boundNanoseconds: 2_000_000,
                arrivedNanoseconds: 500_000_000, runs: runs), media: media)
    }

    /// Publishes a number of pictures.
    mutating func send(_ count: Int, to hub: LiveHub, now: Int64 = 0) {
        for _ in 0..<count {
            let message = next()
            hub.take(message, now: now)
        }
    }

    /// Makes pictures that are not delivered.
    mutating func lose(_ count: Int) {
        for _ in 0..<count { _ = next() }
    }
}

extension LiveHub {
    func take(_ message: LiveMessage, now: Int64 = 0) {
        take(message.samples, media: message.media, now: now)
    }
}

extension LiveFrame {
    /// Its kind and source: `begin camera`, `key camera`, `media camera`, `beat`.
    var word: String {
        let kind =
            switch content {
            case .begin: "begin"
            case .media: beginsDecodable ? "key" : "media"
            case .skipped: "skipped"
            case .gone: "gone"
            case .beat: "beat"
            }
        return source.map { "\(kind) \($0)" } ?? kind
    }

    /// The number of the picture that it begins with.
    var picture: Int? {
        guard case .media(let fragment) = content else { return nil }
        return Int(fragment.startNanoseconds / LiveCamera.pictureNanoseconds)
    }
}

extension LiveWatcher {
    /// Its pending frames, without waiting.
    func drained() async -> [LiveFrame] {
        // A frame is pending, so this does not wait.
        take(LiveFrame.beat)
        let frames = await next()
        guard case .beat? = frames.last?.content else { return frames }
        return Array(frames.dropLast())
    }
}

/// A player of frames; records those that it could not decode.
struct LivePlayer {
    private struct Source {
        var hasFormat = false
        /// The previous picture; nil: the next one must be a keyframe.
        var picture: Int?
    }

    private var sources: [String: Source] = [:]
    private(set) var flaws: [String] = []
    /// Pictures that were shown.
    private(set) var pictures: [String: [Int]] = [:]

    mutating func take(_ frames: [LiveFrame]) {
        for frame in frames { take(frame) }
    }

    private mutating func take(_ frame: LiveFrame) {
        guard let name = frame.source else { return }
        var source = sources[name] ?? Source()
        switch frame.content {
        case .begin:
            source = Source(hasFormat: true, picture: nil)
        case .media:
            let number = frame.picture ?? -1
            if !source.hasFormat { flaws.append("\(name) \(number): no format") }
            if !frame.beginsDecodable, source.picture != number - 1 {
                flaws.append("\(name) \(number): after \(source.picture ?? -1)")
            }
            source.picture = number
            pictures[name, default: []].append(number)
        case .skipped: source.picture = nil
        case .gone: source = Source()
        case .beat: return
        }
        sources[name] = source
    }
}

/// A frame as a client reads it.
struct WireFrame {
    struct Header: Decodable, Hashable {
        var type: String
        var source: String?
        var session: String?
        var zero: String?
        var codecs: String?
        var atSeconds: Double?
        var durationSeconds: Double?
        var boundSeconds: Double?
        var lagSeconds: Double?
        var isKeyframe: Bool?
    }

    var header: Header
    var body: [UInt8]

    /// Parses consecutive frames.
    static func frames(_ bytes: [UInt8]) throws -> [WireFrame] {
        var rest = bytes[...]
        func number() throws -> Int {
            try #require(rest.count >= 4)
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        }
        func part(_ count: Int) throws -> [UInt8] {
            try #require(rest.count >= count)
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        var frames: [WireFrame] = []
        while !rest.isEmpty {
            let headerBytes = try number()
            let bodyBytes = try number()
            let header = try JSONDecoder().decode(Header.self, from: Data(try part(headerBytes)))
            frames.append(WireFrame(header: header, body: try part(bodyBytes)))
        }
        return frames
    }
}

/// Something that happens once.
final class LiveEvent: Sendable {
    private let state = Mutex(false)

    var hasHappened: Bool { state.withLock { $0 } }

    func happens() { state.withLock { $0 = true } }
}
