import Archive
import Media
import Messaging
import Wire

@testable import AgentCore

/// A camera and its microphone: ten pictures a second, a keyframe every second, and sound. Each sample's bytes contain
/// its number, which identifies it in a file.
struct SimulatedCamera {
    /// A sample's source and its ordinal there.
    struct SampleID: Hashable, Comparable, CustomStringConvertible {
        var source: UInt8
        var number: UInt32

        static func < (a: SampleID, b: SampleID) -> Bool {
            (a.source, a.number) < (b.source, b.number)
        }

        var description: String { "\(source):\(number)" }

        var bytes: [UInt8] {
            [0xA5, source]
                + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
        }

        /// Parses the bytes of a sample; nil for other bytes.
        init?(_ bytes: ArraySlice<UInt8>) {
            guard bytes.count >= 6, bytes.first == 0xA5 else { return nil }
            source = bytes[bytes.startIndex + 1]
            number = bytes.dropFirst(2).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }

        init(source: UInt8, number: UInt32) {
            self.source = source
            self.number = number
        }
    }

    static let formats: [TrackFormat] = [
        .video(
            .h264(
                sequenceParameterSets: [
                    [
                        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10,
                        0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83,
                        0x19, 0x60,
                    ]
                ], pictureParameterSets: [[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]], width: 1280,
                height: 720)),
        .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
    ]

    private static let pictureNanoseconds: Int64 = 100_000_000
    private static let picturesPerGroup: Int64 = 10
    private static let packetNanoseconds: Int64 = 21_333_333
    static let batchNanoseconds: Int64 = 200_000_000

    let source: UInt8
    private(set) var made: [SampleID] = []
    /// Capture times, on the true clock.
    private(set) var captured: [Int64] = []
    /// Start of capture, on the true clock.
    private var start: Int64
    private var pictures: Int64 = 0
    private var packets: Int64 = 0

    init(source: UInt8, start: Int64) {
        self.source = source
        self.start = start
    }

    /// The box has rebooted: pictures begin with a keyframe, sound with the current sample.
    mutating func restart(at now: Int64) {
        start = now
        pictures = 0
        packets = 0
    }

    /// When the next batch is complete.
    var dueNanoseconds: Int64 {
        start + (pictures * Self.pictureNanoseconds / Self.batchNanoseconds + 1)
            * Self.batchNanoseconds
    }

    /// The samples up to the next complete batch.
    /// - Parameter clock: the box's clock as a function of true time.
    mutating func batch(
        using random: inout some RandomNumberGenerator, clock: (Int64) -> Int64
    ) -> (batch: Batch, payload: SimulatedPayload) {
        let end = dueNanoseconds - start
        var bytes: [UInt8] = []
        var video: [(time: Int64, size: Int, flags: SampleFlags)] = []
        while pictures * Self.pictureNanoseconds < end {
            let isKeyframe = pictures % Self.picturesPerGroup == 0
            let body = Int.random(in: isKeyframe ? 500...6_000 : 10...400, using: &random)
            let size = append(body, isPicture: true, isKeyframe, to: &bytes)
            captured.append(start + pictures * Self.pictureNanoseconds)
            let time = clock(start + pictures * Self.pictureNanoseconds)
            video.append((time, size, isKeyframe ? .keyframe : []))
            pictures += 1
        }
        var audio: [(time: Int64, size: Int, flags: SampleFlags)] = []
        while packets * Self.packetNanoseconds < end {
            let body = Int.random(in: 10...40, using: &random)
            let size = append(body, isPicture: false, true, to: &bytes)
            captured.append(start + packets * Self.packetNanoseconds)
            audio.append((clock(start + packets * Self.packetNanoseconds), size, .keyframe))
            packets += 1
        }
        let runs = [
            Self.run(.video, video, Self.pictureNanoseconds),
            Self.run(.audio, audio, Self.packetNanoseconds),
        ].compactMap(\.self)
        let payload = bytes.withUnsafeBytes { SimulatedPayload(copying: $0) }
        return (
            Batch(runs: runs, digest: Digest(of: bytes).bytes, payload: .init(bytes)), payload
        )
    }

    private static func run(
        _ track: TrackKind, _ samples: [(time: Int64, size: Int, flags: SampleFlags)],
        _ durationNanoseconds: Int64
    ) -> SampleRun? {
        guard !samples.isEmpty else { return nil }
        return SampleRun(
            track: track, sizes: samples.map { UInt32($0.size) },
            dtsNanoseconds: samples.map(\.time), ptsOffsetsNanoseconds: [],
            durationsNanoseconds: [durationNanoseconds], flags: samples.map(\.flags))
    }

    /// Appends a sample's bytes.
    private mutating func append(
        _ body: Int, isPicture: Bool, _ isKeyframe: Bool, to bytes: inout [UInt8]
    ) -> Int {
        let id = SampleID(source: source, number: UInt32(made.count))
        made.append(id)
        let filling = [UInt8](repeating: UInt8(truncatingIfNeeded: made.count), count: body)
        guard isPicture else {
            bytes += id.bytes + filling
            return 6 + body
        }
        let length = UInt32(1 + 6 + body)
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) }
        bytes += [isKeyframe ? 0x65 : 0x41] + id.bytes + filling
        return 4 + Int(length)
    }

    /// The sample that a file's bytes contain.
    static func identify(_ bytes: ArraySlice<UInt8>, _ track: TrackKind) -> SampleID? {
        SampleID(track == .video ? bytes.dropFirst(5) : bytes)
    }
}
