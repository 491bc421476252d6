import FoundationEssentials
package import Media

/// `<segment>.mp4.json`: the proof that an object store has a segment, complete and unchanged.
///
/// It is uploaded after the segment, so its presence in the store means that the segment is complete. The same bytes
/// are written beside the segment's file. When the file is evicted, the proof stays: it describes the file (size,
/// duration, records), so that lists, the catalog, `verify` and recovery still know the segment.
///
/// Entity tags of stores are not digests, and some stores do not return digests. So the proof has its own: the SHA-256
/// of each uploaded part, and the SHA-256 over those digests in order (what S3 calls a composite checksum).
package struct SegmentProof: Codable, Hashable, Sendable {
    package static let formatVersion = 1
    /// A larger proof was not written by this program: 10,000 parts need 700 kB.
    package static let maximumBytes = 8 << 20
    /// S3's maximum number of parts.
    package static let maximumParts = 10_000
    /// A part is held in memory. So an object has 671 GB at most: a day at 62 Mbit/s.
    package static let maximumPartBytes: Int64 = 64 << 20
    /// A hundred days.
    private static let longestNanoseconds: Int64 = 8_640_000_000_000_000

    /// The records of one spool in the segment.
    package struct Records: Codable, Hashable, Sendable {
        /// The spool's identity, hexadecimal.
        package var spool: String
        /// First and last of each range, ascending.
        package var ranges: [[UInt64]]
    }

    package var format: Int
    package var session: String
    package var source: String
    /// The file's name.
    package var segment: String
    package var sizeBytes: Int64
    /// ``SegmentKey/revision``.
    package var revision: UInt32
    /// SHA-256 of the file's last `moof`, hexadecimal: through the chain of ``FragmentRecord`` it covers all media in
    /// the file. Nil for a file of another origin.
    package var chain: String?
    /// Size of every part but the last.
    package var partBytes: Int64
    /// SHA-256 of each part, hexadecimal.
    package var parts: [String]
    /// SHA-256 of the parts' digests, concatenated, hexadecimal.
    package var digest: String
    /// Duration of its presentation; nil if the index is unreadable.
    package var lengthNanoseconds: Int64?
    package var records: [Records]
    /// Data to continue the source after the segment; nil in proofs of early versions.
    package var continuation: SegmentContinuation?
    /// By spool, hexadecimal: at the time of writing, every record of the source up to this one was in the store, or
    /// need not be. So a collector that begins with only the bucket knows of records in sessions that it does not read.
    package var storedThrough: [String: UInt64]?
    /// The store, without the segment's name: `s3://BUCKET/PREFIX`.
    package var store: String
    /// The object's entity tag.
    package var tag: String
    /// The modification time of the uploaded file, nanoseconds since 1970 (UTC).
    package var modifiedNanoseconds: Int64
    /// Time of writing, UTC.
    package var at: String

    /// - Parameters:
    ///   - parts: SHA-256 of each part.
    ///   - tag: the complete object's entity tag.
    package init(
        of segment: SegmentKey, content: SegmentContent, partBytes: Int64, parts: [Digest],
        store: String, tag: String, at: UTCTime
    ) {
        format = Self.formatVersion
        session = segment.session
        source = segment.source
        self.segment = segment.fileName
        sizeBytes = content.stamp.sizeBytes
        revision = content.revision
        chain = content.chain?.description
        self.partBytes = partBytes
        self.parts = parts.map(\.description)
        digest = Self.digest(of: parts).description
        lengthNanoseconds = content.lengthNanoseconds
        records = content.records.map { spool, ranges in
            Records(
                spool: spool.description, ranges: ranges.map { [$0.lowerBound, $0.upperBound] })
        }
        continuation = content.continuation
        self.store = store
        self.tag = tag
        modifiedNanoseconds = content.stamp.modifiedNanoseconds
        self.at = at.description
    }

    /// The digest of digests.
    package static func digest(of parts: [Digest]) -> Digest { Digest(of: parts.flatMap(\.bytes)) }

    /// Part size for an object: `usual`, or more if 10,000 parts would not suffice.
    package static func partBytes(for sizeBytes: Int64, usual: Int64 = 8 << 20) -> Int64 {
        let step: Int64 = 1 << 20
        let least = (max(0, sizeBytes) + Int64(maximumParts) - 1) / Int64(maximumParts)
        return least <= usual ? usual : (least + step - 1) / step * step
    }

    /// The segment that it describes.
    package var key: SegmentKey? {
        SegmentKey(SourceKey(session: session, source: source), fileName: segment).map {
            var key = $0
            key.revision = revision
            return key
        }
    }

    /// The file's range of part `index`, from 0.
    package func range(ofPart index: Int) -> Range<Int64> {
        let begin = Int64(index) * partBytes
        return begin..<min(begin + partBytes, sizeBytes)
    }

    /// The records, without numbers beyond the limits.
    package var ranges: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])] {
        records.compactMap { records in
            SpoolID(hexadecimal: records.spool).map { spool in
                (spool, records.ranges.map { $0[0]...$0[1] })
            }
        }
    }

    /// Whether it matches the file with this stamp, without reading the file.
    package func describes(_ stamp: FileStamp) -> Bool {
        sizeBytes == stamp.sizeBytes && modifiedNanoseconds == stamp.modifiedNanoseconds
    }

    /// The proof as the bytes of its file.
    package func encoded() -> [UInt8] { JSONDocument.bytes(of: self) }

    /// Reads the bytes of a proof.
    /// - Parameter path: the file in errors.
    package static func parse(_ bytes: [UInt8], path: String) throws(ArchiveError) -> SegmentProof {
        let proof: SegmentProof
        do {
            guard bytes.count <= maximumBytes else {
                throw ArchiveError.malformed(path: path, reason: "larger than a proof can be")
            }
            proof = try JSONDecoder().decode(SegmentProof.self, from: Data(bytes))
        } catch let error as ArchiveError {
            throw error
        } catch {
            throw .malformed(path: path, reason: "not the proof of a stored segment")
        }
        guard proof.format == formatVersion else {
            throw .malformed(
                path: path,
                reason: "format \(proof.format) is not supported, only \(formatVersion)")
        }
        guard proof.isPossible else {
            throw .malformed(path: path, reason: "not the proof of a stored segment")
        }
        return proof
    }

    /// Reads the proof beside a segment; nil without one.
    package static func read(
        _ segment: SegmentKey, in layout: ArchiveLayout
    ) throws(ArchiveError) -> SegmentProof? {
        let path = layout.path(of: segment, .proof)
        guard FileSystem.exists(path) else { return nil }
        let proof = try parse(FileSystem.read(path, limit: maximumBytes), path: path)
        // A session may have been copied under another name.
        guard proof.source == segment.source, proof.segment == segment.fileName else {
            throw .malformed(path: path, reason: "the proof of another segment, \(proof.segment)")
        }
        return proof
    }

    /// Whether its values are consistent and within limits.
    private var isPossible: Bool {
        guard sizeBytes >= 0, (1...Self.maximumPartBytes).contains(partBytes),
            sizeBytes <= Int64(Self.maximumParts) * partBytes,
            parts.count <= Self.maximumParts,
            Int64(parts.count) == max(1, (sizeBytes + partBytes - 1) / partBytes),
            ArchiveLayout.isValidName(session), ArchiveLayout.isValidName(source), key != nil,
            lengthNanoseconds.map({ (0...Self.longestNanoseconds).contains($0) }) ?? true,
            modifiedNanoseconds.magnitude <= UTCTime.farthestNanoseconds,
            records.count <= RecordLimits.ranges,
            storedThrough?.values.allSatisfy({ $0 <= RecordLimits.sequence }) ?? true
        else { return false }
        let digests = parts.compactMap(Digest.init(hexadecimal:))
        guard digests.count == parts.count, Self.digest(of: digests).description == digest,
            chain.map({ Digest(hexadecimal: $0) != nil }) ?? true
        else { return false }
        let areNumbers = records.allSatisfy { records in
            SpoolID(hexadecimal: records.spool) != nil
                && records.ranges.allSatisfy {
                    $0.count == 2 && $0[0] <= $0[1] && $0[1] <= RecordLimits.sequence
                }
        }
        guard areNumbers else { return false }
        // Each record is a sample of at least one byte: gaps, changes of format and Goodbyes are in the ledger only.
        let samples = records.lazy.flatMap(\.ranges).reduce(0 as UInt64) {
            $0.clampedAdding($1[1] - $1[0] + 1)
        }
        return samples <= UInt64(sizeBytes)
    }
}

extension Digest {
    /// From 64 hexadecimal digits, lower-case.
    package init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[place]), let low = value(digits[place + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.init(bytes)
    }
}
