import MP4
import Media
import Timing

extension FragmentRecord {
    /// The payload of the `uuid` box.
    package func encoded() -> [UInt8] {
        guard let zero = collectorZeroNanoseconds, let durableBytes else {
            preconditionFailure("records of earlier versions are only read")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(144 + pieces.count * 90 + exchanges.count * 16)
        let hasStamps = pieces.contains { $0.runs.contains { $0.camera != nil } }
        bytes.appendBigEndian(UInt32(hasStamps ? Self.version : Self.plainVersion) << 24)
        bytes += spool.bytes
        bytes += epoch.bytes
        bytes.appendBigEndian(UInt64(bitPattern: clock.offsetNanoseconds))
        bytes.appendBigEndian(clock.boundNanoseconds)
        bytes.appendBigEndian(UInt64(bitPattern: clock.skewPartsPerBillion))
        bytes.appendBigEndian(UInt64(bitPattern: sessionZero.nanoseconds))
        bytes.appendBigEndian(UInt64(bitPattern: zero))
        bytes.appendBigEndian(UInt64(bitPattern: segmentOriginNanoseconds))
        bytes += chain.bytes
        bytes.appendBigEndian(durableBytes)
        bytes.appendBigEndian(UInt16(pieces.count))
        for piece in pieces {
            bytes.appendBigEndian(piece.sizeBytes)
            bytes.append(piece.digestOrigin.rawValue)
            bytes += piece.digest.bytes
            bytes.append(UInt8(piece.runs.count))
            for run in piece.runs {
                bytes.append(run.track.rawValue)
                bytes.append(run.primingSamples)
                bytes.appendBigEndian(run.samples)
                bytes.appendBigEndian(run.firstSequence)
                bytes.appendBigEndian(UInt64(bitPattern: run.firstDTSNanoseconds))
                bytes.appendVarint(run.appliedOffsetNanoseconds &- clock.offsetNanoseconds)
                if hasStamps {
                    FragmentStampCoding.append(
                        run.camera, after: run.firstDTSNanoseconds, to: &bytes)
                }
            }
        }
        bytes.appendBigEndian(UInt16(exchanges.count))
        var last = ClockExchange.zero
        for exchange in exchanges {
            bytes.appendVarint(exchange.t1Nanoseconds &- last.t1Nanoseconds)
            bytes.appendVarint(exchange.thereNanoseconds &- last.thereNanoseconds)
            bytes.appendVarint(exchange.answerNanoseconds)
            bytes.appendVarint(
                exchange.t4Nanoseconds &- exchange.t1Nanoseconds &- exchange.answerNanoseconds)
            last = exchange
        }
        return bytes
    }

    /// Why a record could not be read.
    package typealias Malformed = MalformedRecord

    /// Reads the payload of a `uuid` box. No count is trusted: every read is checked against the available bytes.
    package init(parsing payload: [UInt8]) throws(Malformed) {
        var reader = RecordReader(payload, what: "a fragment record")
        let version = try reader.integer(UInt8.self)
        guard (1...Self.version).contains(version) else {
            throw Malformed(description: "a fragment record of an unknown version")
        }
        _ = try reader.bytes(3)
        spool = try reader.identity()
        epoch = try reader.identity()
        clock = Clock(
            offsetNanoseconds: Int64(bitPattern: try reader.integer(UInt64.self)),
            boundNanoseconds: try reader.integer(UInt64.self),
            skewPartsPerBillion: Int64(bitPattern: try reader.integer(UInt64.self)))
        sessionZero = UTCTime(nanoseconds: Int64(bitPattern: try reader.integer(UInt64.self)))
        collectorZeroNanoseconds =
            version == 1 ? nil : Int64(bitPattern: try reader.integer(UInt64.self))
        segmentOriginNanoseconds = Int64(bitPattern: try reader.integer(UInt64.self))
        chain = try reader.digest()
        durableBytes = version < 3 ? nil : try reader.integer(UInt64.self)
        pieces = []
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let size = try reader.integer(UInt32.self)
            guard let origin = DigestOrigin(rawValue: try reader.integer(UInt8.self)) else {
                throw Malformed(description: "a digest of unknown origin")
            }
            let digest = try reader.digest()
            var runs: [Run] = []
            for _ in 0..<(try reader.integer(UInt8.self)) {
                var run = try reader.run()
                run.appliedOffsetNanoseconds = clock.offsetNanoseconds
                if version > 1 { run.appliedOffsetNanoseconds &+= try reader.varint() }
                if version > 3 {
                    run.camera = try reader.cameraStamps(
                        count: Int(run.samples), after: run.firstDTSNanoseconds)
                }
                runs.append(run)
            }
            pieces.append(
                Piece(sizeBytes: size, digestOrigin: origin, digest: digest, runs: runs))
        }
        exchanges = version == 1 ? [] : try reader.exchanges()
        guard reader.isAtEnd else {
            throw Malformed(description: "a fragment record with bytes after its end")
        }
        guard hasPossibleTimes else {
            throw Malformed(description: "a fragment record with impossible times")
        }
    }

    /// Whether its times are within limits: no sum and no difference of some exceeds 64 bits. Its exchanges are not
    /// checked.
    private var hasPossibleTimes: Bool {
        let runs = pieces.lazy.flatMap(\.runs)
        let times = [
            clock.offsetNanoseconds, sessionZero.nanoseconds, collectorZeroNanoseconds ?? 0,
        ]
        func isPossible(_ time: Int64) -> Bool {
            time.magnitude <= RecordLimits.timeNanoseconds.magnitude
        }
        return times.allSatisfy(isPossible)
            && segmentOriginNanoseconds.magnitude <= RecordLimits.sessionNanoseconds.magnitude
            && runs.allSatisfy {
                isPossible($0.firstDTSNanoseconds) && isPossible($0.appliedOffsetNanoseconds)
                    && ($0.camera.map { $0.arrivals.allSatisfy(isPossible) } ?? true)
            }
    }
}

extension RecordReader {
    fileprivate mutating func run() throws(FragmentRecord.Malformed) -> FragmentRecord.Run {
        guard let track = TrackKind(rawValue: try integer(UInt8.self)) else {
            throw FragmentRecord.Malformed(description: "a run of an unknown track")
        }
        let run = FragmentRecord.Run(
            track: track, primingSamples: try integer(UInt8.self),
            samples: try integer(UInt32.self), firstSequence: try integer(UInt64.self),
            firstDTSNanoseconds: Int64(bitPattern: try integer(UInt64.self)),
            appliedOffsetNanoseconds: 0)
        guard run.firstSequence <= RecordLimits.sequence, run.samples <= FragmentLimits.samples
        else {
            throw FragmentRecord.Malformed(
                description:
                    "\(run.samples) samples from number \(run.firstSequence) on, above the limit")
        }
        return run
    }

    fileprivate mutating func exchanges() throws(FragmentRecord.Malformed) -> [ClockExchange] {
        let count = Int(try integer(UInt16.self))
        guard count <= FragmentRecord.maximumExchanges else {
            throw FragmentRecord.Malformed(description: "\(count) clock exchanges")
        }
        var exchanges: [ClockExchange] = []
        var last = ClockExchange.zero
        for _ in 0..<count {
            let t1 = last.t1Nanoseconds &+ (try varint())
            let there = last.thereNanoseconds &+ (try varint())
            let answer = try varint()
            let delay = try varint()
            last = ClockExchange(
                t1Nanoseconds: t1, t2Nanoseconds: t1 &+ there, t3Nanoseconds: t1 &+ there &+ answer,
                t4Nanoseconds: t1 &+ answer &+ delay)
            exchanges.append(last)
        }
        return exchanges
    }
}

extension ClockExchange {
    /// The zero from which the first exchange of a record is encoded as a difference.
    fileprivate static let zero = ClockExchange(
        t1Nanoseconds: 0, t2Nanoseconds: 0, t3Nanoseconds: 0, t4Nanoseconds: 0)

    fileprivate var thereNanoseconds: Int64 { t2Nanoseconds &- t1Nanoseconds }
    fileprivate var answerNanoseconds: Int64 { t3Nanoseconds &- t2Nanoseconds }
}
