import Archive
import Dispatch
import Media
import Messaging
import Wire

/// A raw peer of a collector, which may violate the protocol.
struct Stranger: ~Copyable {
    private static let spool = SpoolID.random()
    private static let epoch = Epoch(number: 1, identity: .random())
    /// Polls for an answer, and the timeout of each.
    private static let looks = (count: 2_000, milliseconds: 10)

    private let socket: Socket
    private var poller = Poller()

    init(to endpoint: String, security: SocketSecurity = .plain) throws {
        var options = SocketOptions()
        options.security = security
        options.lingerMilliseconds = 1_000
        let socket = try Socket(.dealer, in: Context(), options: options)
        try socket.connect(endpoint)
        _ = poller.add(socket)
        self.socket = socket
    }

    func send(_ parts: [UInt8]...) throws {
        _ = try socket.send(parts.map { .bytes($0) })
    }

    /// The collector's next message, ignoring Acks; nil after the timeout.
    mutating func answer() throws -> WireMessage? {
        // A wait may return early without a message.
        for _ in 0..<Self.looks.count {
            _ = try poller.wait(milliseconds: Self.looks.milliseconds)
            guard let part = try socket.receive(maximumParts: 1)?.parts.first else { continue }
            let message = try WireMessage(decoding: part.bytes)
            if case .acknowledgement = message { continue }
            return message
        }
        return nil
    }

    /// The next refusal; nil if none arrives.
    mutating func refusal() throws -> Refusal? {
        while let message = try answer() {
            if case .refusal(let refusal) = message { return refusal }
        }
        return nil
    }

    /// Waits until its only source's records up to `sequence` are durable.
    mutating func waitUntilPersisted(_ sequence: UInt64) throws {
        for _ in 0..<Self.looks.count {
            _ = try poller.wait(milliseconds: Self.looks.milliseconds)
            guard let part = try socket.receive(maximumParts: 1)?.parts.first else { continue }
            if case .acknowledgement(let acknowledgement) = try WireMessage(decoding: part.bytes),
                acknowledgement.sources.contains(where: { $0.persisted >= sequence })
            {
                return
            }
        }
        throw StageFailure(description: "record \(sequence) never became durable")
    }

    // MARK: Well-formed messages

    /// A valid greeting.
    static func hello(source: String) -> [UInt8] {
        let track = TrackFormat.video(
            .h264(
                sequenceParameterSets: [
                    [
                        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10,
                        0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83,
                        0x19, 0x60,
                    ]
                ],
                pictureParameterSets: [[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]], width: 1280,
                height: 720))
        return WireMessage.hello(
            Hello(
                software: "stranger", agent: "stranger", spool: spool, epochs: [epoch],
                sources: [SourceOffer(name: source, tracks: [track], firstSequence: 1)])
        ).encoded()
    }

    /// Pictures with these bytes, numbered from `sequence`.
    static func samples(_ pictures: [[UInt8]], from sequence: UInt64) -> (
        header: [UInt8], payload: [UInt8]
    ) {
        let payload = Array(pictures.joined())
        let now = Int64(DispatchTime.now().uptimeNanoseconds)
        let samples = Samples(
            source: 0, firstSequence: sequence, epoch: epoch.number,
            payloadDigest: Digest(of: payload).bytes,
            runs: [
                SampleRun(
                    track: .video, sizes: pictures.map { UInt32($0.count) },
                    dtsNanoseconds: pictures.indices.map { now + Int64($0) * 40_000_000 },
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [40_000_000],
                    flags: pictures.indices.map { $0 == 0 ? .keyframe : [] })
            ])
        return (WireMessage.samples(samples).encoded(), payload)
    }

    /// A run's pictures, valid or not, from record 1.
    static func samples(_ run: SampleRun) -> (header: [UInt8], payload: [UInt8]) {
        let payload = Array(repeatElement(picture, count: run.count).joined())
        let samples = Samples(
            source: 0, firstSequence: 1, epoch: epoch.number,
            payloadDigest: Digest(of: payload).bytes, runs: [run])
        return (WireMessage.samples(samples).encoded(), payload)
    }

    /// An access unit of one NAL unit: an IDR slice that is never decoded.
    static let picture: [UInt8] = [0, 0, 0, 4, 0x65, 0x88, 0x84, 0x00]
}
