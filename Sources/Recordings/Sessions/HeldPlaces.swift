package import Archive
import Media

extension RecordedSource {
    /// Limit of ranges that are located: each needs reading a few files.
    private static let maximumPlaced = 64

    /// Records that other collectors hold, located on the timeline.
    ///
    /// Their numbers are in the ledger; they are between the recorded samples with adjacent numbers.
    package func held() throws(ArchiveError) -> [HeldRecords] {
        try placed(HeldRecords.all(try ledgerEntries(), recorded: [:]))
    }

    /// Records of the source that are in none of its files, located on the timeline by the adjacent numbers.
    package func placed(_ records: [HeldRecords]) throws(ArchiveError) -> [HeldRecords] {
        var held = records
        for index in held.indices.prefix(Self.maximumPlaced) {
            guard let spool = SpoolID(hexadecimal: held[index].spool),
                let first = held[index].ranges.first?.first,
                let last = held[index].ranges.last?.last
            else { continue }
            let place = try place(of: first...max(first, last), spool)
            held[index].startNanoseconds = place.start
            held[index].endNanoseconds = place.end
        }
        return held
    }

    /// From the end of the last sample with a lower number to the start of the first one with a higher number.
    private func place(
        of records: ClosedRange<UInt64>, _ spool: SpoolID
    ) throws(ArchiveError) -> (start: Int64?, end: Int64?) {
        var before: RecordedFile?
        for file in files {
            do throws(ArchiveError) {
                let opened = try file.opened()
                var cursor = try FileCursor(opened)
                guard let fragment = try cursor.next(), fragment.record?.spool == spool,
                    let first = fragment.samples.compactMap(\.sequence).min()
                else { continue }
                if first < records.lowerBound {
                    before = opened
                    continue
                }
                let own = try Self.place(of: records, spool, in: opened)
                guard let earlier = before else { return own }
                let known = try Self.place(of: records, spool, in: earlier)
                return (known.start, known.end ?? own.end)
            } catch {
                // `verify` reports the error.
                guard error.isForContent || error.isForAbsence else { throw error }
            }
        }
        guard let before else { return (nil, nil) }
        return try Self.place(of: records, spool, in: before)
    }

    /// The same in one file.
    static func place(
        of records: ClosedRange<UInt64>, _ spool: SpoolID, in file: RecordedFile
    ) throws(ArchiveError) -> (start: Int64?, end: Int64?) {
        var start: Int64?
        var end: Int64?
        var cursor = try FileCursor(file)
        while end == nil, let fragment = try cursor.next() {
            guard fragment.record?.spool == spool else { continue }
            for sample in fragment.samples {
                guard let number = sample.sequence else { continue }
                if number < records.lowerBound {
                    start = max(start ?? sample.endNanoseconds, sample.endNanoseconds)
                } else if number > records.upperBound {
                    end = min(end ?? sample.ptsNanoseconds, sample.ptsNanoseconds)
                }
            }
        }
        return (start, end)
    }
}
