import Archive
package import Media
import Messaging
import CollectorClient
import Spooling
import Wire

/// A spool argument of the command line.
package enum SpoolInput {
    /// Whether a path is an agent's spool: a directory with its files.
    package static func isSpool(_ path: String) -> Bool { ReadOnlyDirectory.holdsSpool(path) }

    /// The name of the spool's source: that of its directory.
    package static func name(of path: String) -> String {
        let last = path.split(separator: "/").last { $0 != "." }.map(String.init)
        return ArchiveLayout.validName(from: last ?? "spool")
    }
}

/// Replays an agent's spool: its records in the order of sending.
///
/// The spool is only read. Records of several boots have different clocks whose relation is unknown: they are played in
/// succession. Times count from the first sample.
package struct SpoolPlayer: SourcePlayer {
    package let name: String
    package let formats: [TrackFormat]
    private let shelf: SpoolSet
    private var lives: ArraySlice<EarlierSpool>
    /// The run that is being read, its next record, and the offset of its times.
    private var life: EarlierSpool
    private var number: UInt64
    private var offset: Int64?
    private var records: ArraySlice<KeptRecord<SharedBytes>> = []
    private var changes: ArraySlice<TrackFormat> = []
    private var present: [TrackFormat]
    private var latest: Int64 = 0
    private var end: Int64 = 0

    /// - Parameter name: of the source.
    package init(_ directory: String, name: String) throws(ReplayError) {
        self.name = name
        guard !DirectoryStorage.isInUse(directory) else {
            throw ReplayError(
                "the spool \(directory) is in use by an agent, which sends it: stop that agent, or replay a copy of the directory"
            )
        }
        do throws(SpoolError) {
            let shelf = try SpoolSet(
                storage: ReadOnlyDirectory(path: directory), limitBytes: .max)
            self.shelf = shelf
            lives = shelf.spools.compactMap { EarlierSpool($0, of: shelf) }[...]
        } catch {
            throw ReplayError("\(error)")
        }
        guard let first = lives.popFirst() else {
            throw ReplayError("the spool \(directory) holds no readable samples")
        }
        life = first
        number = first.sequences.lowerBound
        formats = first.firstFormats
        present = first.firstFormats
    }

    package mutating func next() throws(ReplayError) -> ReplayItem? {
        while true {
            if let format = changes.popFirst() {
                return ReplayItem(timeNanoseconds: latest, content: .format(format))
            }
            if let record = records.popFirst() {
                if let item = item(record) { return item }
                continue
            }
            if number < life.sequences.upperBound {
                let reading = SpoolReading<SharedBytes>(
                    life.generation, from: number, shelf: shelf)
                records = reading.records[...]
                guard let last = records.last else {
                    // The agent has sent and deleted it since.
                    number = life.sequences.upperBound
                    continue
                }
                number = last.sequences.upperBound + 1
                continue
            }
            guard let following = lives.popFirst() else { return nil }
            life = following
            number = following.sequences.lowerBound
            offset = nil
            change(to: following.firstFormats)
        }
    }

    private mutating func change(to formats: [TrackFormat]) {
        changes = formats.filter { !present.contains($0) }[...]
        for format in changes { present = present.replacing(format) }
    }

    private mutating func item(_ record: KeptRecord<SharedBytes>) -> ReplayItem? {
        if let samples = record.samples, let payload = record.payload {
            let times = samples.runs.times
            let offset = self.offset ?? end - times.lowerBound
            self.offset = offset
            end = max(end, times.upperBound + offset)
            let newest = samples.runs.compactMap(\.dtsNanoseconds.last).max() ?? 0
            latest = max(latest, newest + offset)
            let replayed = ReplayedSamples(
                runs: samples.runs, payload: payload, digest: samples.payloadDigest)
            return ReplayItem(
                timeNanoseconds: latest,
                content: .samples(replayed.moved(byNanoseconds: offset)))
        }
        if let gap = record.gap {
            let start = offset.map { gap.startNanoseconds + $0 } ?? end
            return ReplayItem(
                timeNanoseconds: latest,
                content: .loss(
                    Loss(
                        track: gap.track, cause: gap.cause, startNanoseconds: start,
                        durationNanoseconds: gap.durationNanoseconds, samples: gap.samples,
                        text: gap.text)))
        }
        if let format = record.format {
            change(to: present.replacing(format))
            return nil
        }
        // A goodbye: the replay sends its own.
        return nil
    }
}
