package import Media
package import Timing

/// The record of every fragment, in a `uuid` box that is the last child of its `moof` (ISO/IEC 14496-12 §11.1): its
/// records by spool, the computation of its times, and a chain of digests that makes the file self-verifying.
///
/// Layout of the box's payload, big-endian:
///
///     u8 version = 4 with stamps of a network camera, else 3; 3 bytes 0
///     16 bytes spool identity, 16 bytes epoch identity
///     i64 clock offset (ns, collector − agent), u64 its bound (ns), i64 skew (parts per billion)
///     i64 session zero (ns UTC), i64 the same on the collector's monotonic clock (ns; not in version 1)
///     i64 segment origin (ns of session time)
///     32 bytes chain: SHA-256 of the `moof` before this one, or of the file's first `moov`
///     u64 durable bytes: `fdatasync` had returned for this much of the file before the fragment was written (from
///         version 3 on)
///     u16 number of pieces, each:
///         u32 bytes, u8 origin of the digest (0 agent, 1 collector), 32 bytes SHA-256 of them
///         u8 number of runs, each:
///             u8 track, u8 priming samples at its start, u32 samples
///             u64 first sequence number, i64 first DTS as the agent stamped it (ns of its clock)
///             varint clock offset applied to that stamp, less the one above (ns; not in version 1)
///             varint clock rate of a network camera's RTP timestamps, 0: no stamps (from version 4 on); else for each sample five
///                 varints: RTP timestamp (32 bits) and arrival of the first packet, both less those of the sample before (the
///                 first: less 0, and less the first DTS), arrival of the last packet less that of the first, number of the first
///                 packet less that of the sample before, number of packets; then
///                 varint number of sender reports, each: u32 SSRC, u64 NTP timestamp, u32 RTP timestamp, varint arrival less the
///                 first DTS
///     u16 number of clock exchanges of the epoch, oldest first (not in version 1), each four varints:
///         t1 and t2 − t1, both less those of the exchange before, t3 − t2, and (t4 − t1) − (t3 − t2)
///
/// A varint is a signed number in zigzag encoding (0, −1, 1, −2, … become 0, 1, 2, 3, …), in groups of seven bits, the
/// least significant first; the eighth bit is set if another group follows.
///
/// The pieces are the fragment's media data in order. Because a `moof` holds its pieces' digests and the next `moof`
/// holds its digest, one flipped bit anywhere breaks the chain at that fragment.
package struct FragmentRecord: Hashable, Sendable {
    /// The `uuid` box's user type.
    package static let userType: [UInt8] = [
        0xB5, 0xA7, 0xC5, 0xB4, 0x9E, 0x0E, 0x4C, 0x6B, 0x8F, 0x5D, 0x54, 0x52, 0x49, 0x42, 0x55,
        0xF1,
    ]
    /// Offset of the clock's bound in the payload: after the version, the spool, the epoch and the offset.
    package static let boundOffset = 44
    package static let version: UInt8 = 4
    /// The version that is written without stamps of a network camera.
    static let plainVersion: UInt8 = 3
    /// Maximum pieces of one record. Each piece is a `trun` of each track, and readers accept twice as many boxes,
    /// although 16 bits can count more.
    package static let maximumPieces = 1 << 13
    /// Maximum exchanges of one record: half a minute of fast probing.
    package static let maximumExchanges = 256

    /// The program that computed a piece's digest.
    package enum DigestOrigin: UInt8, Sendable {
        /// The agent, over the whole message: it covers the bytes from the box on.
        case agent = 0
        /// The collector, because the message was divided between two segments.
        case collector = 1
    }

    /// Samples of one track that are consecutive in the media data and in their numbers.
    package struct Run: Hashable, Sendable {
        package var track: TrackKind
        /// Number of samples at its start that are decoded but not presented.
        package var primingSamples: UInt8
        package var samples: UInt32
        package var firstSequence: UInt64
        /// Decoding time of the first sample on the agent's own clock, nanoseconds.
        package var firstDTSNanoseconds: Int64
        /// Collector − agent as applied to that stamp; in version 1, the fragment's offset.
        package var appliedOffsetNanoseconds: Int64
        /// Stamps of samples from a network camera, one per sample; nil for other sources.
        package var camera: CameraStamps?

        package init(
            track: TrackKind, primingSamples: UInt8, samples: UInt32, firstSequence: UInt64,
            firstDTSNanoseconds: Int64, appliedOffsetNanoseconds: Int64,
            camera: CameraStamps? = nil
        ) {
            precondition(
                camera.map { $0.stamps.count == Int(samples) } ?? true,
                "each sample has a stamp")
            self.track = track
            self.primingSamples = primingSamples
            self.samples = samples
            self.firstSequence = firstSequence
            self.firstDTSNanoseconds = firstDTSNanoseconds
            self.appliedOffsetNanoseconds = appliedOffsetNanoseconds
            self.camera = camera
        }
    }

    /// Bytes that were received and digested as a unit.
    package struct Piece: Hashable, Sendable {
        package var sizeBytes: UInt32
        package var digestOrigin: DigestOrigin
        package var digest: Digest
        package var runs: [Run]

        package init(sizeBytes: UInt32, digestOrigin: DigestOrigin, digest: Digest, runs: [Run]) {
            self.sizeBytes = sizeBytes
            self.digestOrigin = digestOrigin
            self.digest = digest
            self.runs = runs
        }
    }

    /// The clock model with which the fragment was written.
    package struct Clock: Hashable, Sendable {
        /// Collector − agent, nanoseconds.
        package var offsetNanoseconds: Int64
        /// Maximum error of the offset, nanoseconds.
        package var boundNanoseconds: UInt64
        /// The growth of the offset, parts per billion of the agent's time.
        package var skewPartsPerBillion: Int64

        package init(
            offsetNanoseconds: Int64, boundNanoseconds: UInt64, skewPartsPerBillion: Int64
        ) {
            self.offsetNanoseconds = offsetNanoseconds
            self.boundNanoseconds = boundNanoseconds
            self.skewPartsPerBillion = skewPartsPerBillion
        }
    }

    /// 16 bytes.
    package var spool: SpoolID
    /// 16 bytes.
    package var epoch: EpochID
    package var clock: Clock
    package var sessionZero: UTCTime
    /// The session's zero on the clock of the exchanges; nil in version 1.
    package var collectorZeroNanoseconds: Int64?
    /// The segment's origin on the session's timeline, nanoseconds.
    package var segmentOriginNanoseconds: Int64
    package var chain: Digest
    /// Size of the file's beginning that was durable before the fragment was written; nil before version 3.
    ///
    /// Zeros in place of some of its bytes only make it smaller.
    package var durableBytes: UInt64?
    package var pieces: [Piece]
    /// Exchanges with the epoch's clock that arrived since the previous fragment, unchecked.
    package var exchanges: [ClockExchange]

    package init(
        spool: SpoolID, epoch: EpochID, clock: Clock, sessionZero: UTCTime,
        collectorZeroNanoseconds: Int64, segmentOriginNanoseconds: Int64, chain: Digest,
        durableBytes: UInt64 = 0, pieces: [Piece], exchanges: [ClockExchange] = []
    ) {
        precondition(exchanges.count <= Self.maximumExchanges, "a record's exchanges are bounded")
        precondition(pieces.count <= Self.maximumPieces, "a record's pieces are bounded")
        self.spool = spool
        self.epoch = epoch
        self.clock = clock
        self.sessionZero = sessionZero
        self.collectorZeroNanoseconds = collectorZeroNanoseconds
        self.segmentOriginNanoseconds = segmentOriginNanoseconds
        self.chain = chain
        self.durableBytes = durableBytes
        self.pieces = pieces
        self.exchanges = exchanges
    }

    /// The sequence numbers in the fragment, in the order of its pieces.
    package var sequences: [ClosedRange<UInt64>] {
        pieces.flatMap(\.runs).filter { $0.samples > 0 }.map { run in
            run.firstSequence...(run.firstSequence + UInt64(run.samples) - 1)
        }
    }
}
