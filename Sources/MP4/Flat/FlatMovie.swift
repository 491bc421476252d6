package import Media

/// An ordinary movie file, `ftyp`, `mdat` and `moov` in either order, around media and tables that the caller stores.
package struct FlatMovie: Sendable {
    /// A piece of the `moov` box.
    package enum Part: Sendable {
        case bytes([UInt8])
        /// The rows of a track's table. ``FlatTrack/Table/offsets`` are increased by the start of the media, and
        /// written as 4 bytes each when `isWide` is false.
        case rows(track: Int, FlatTrack.Table, isWide: Bool)
    }

    /// An instant of the timeline that all tracks share, in ticks of a clock that represents it exactly.
    package struct Instant: Hashable, Sendable {
        package var ticks: Int64
        package var timescale: Timescale

        package init(ticks: Int64, timescale: Timescale) {
            self.ticks = ticks
            self.timescale = timescale
        }
    }

    /// The time range in which a track is presented, in its own ticks on that timeline.
    package struct Presentation: Hashable, Sendable {
        package var start: Int64
        /// Not before `start`.
        package var end: Int64

        package init(start: Int64, end: Int64) {
            self.start = start
            self.end = end
        }
    }

    private let flavour: MovieFlavour
    private let boxes: MovieBoxes

    package init(flavour: MovieFlavour, createdUnixSeconds: Int64) {
        self.flavour = flavour
        boxes = MovieBoxes(createdUnixSeconds: createdUnixSeconds)
    }

    /// The file's first box.
    package var fileType: [UInt8] {
        switch flavour {
        case .mp4: return FragmentedHeader.fileType
        case .quickTime:
            var writer = BoxWriter()
            writer.box("ftyp") { writer in
                writer.fourCC("qt  ")
                writer.u32(0x200)
                writer.fourCC("qt  ")
            }
            return writer.bytes
        }
    }

    /// Size of ``mediaHeader(sizeBytes:)``.
    package static let mediaHeaderSizeBytes: Int64 = 16

    /// The header of an `mdat` with this many bytes of media.
    package static func mediaHeader(sizeBytes: Int64) -> [UInt8] {
        InPlaceFinish.header(from: 0, to: mediaHeaderSizeBytes + sizeBytes)
    }

    /// The `moov` box of finished tracks, in pieces.
    ///
    /// - Parameters:
    ///   - start: the movie's zero; no track is presented before it.
    ///   - mediaEnd: an upper bound of the file offset at which the media end: it determines the width of chunk
    ///     offsets.
    package func movie(
        _ tracks: [(track: FlatTrack, presentation: Presentation)], from start: Instant,
        mediaEnd: Int64
    ) throws(MP4Error) -> [Part] {
        let present = tracks.indices.filter { tracks[$0].track.count > 0 }
        guard !present.isEmpty else { throw .noSamples }
        let timescale = FinalMovieBuilder.movieTimescale(
            for: present.map { tracks[$0].track.timescale })
        var presentations: [Int: TrackPresentation] = [:]
        for index in present {
            presentations[index] = try Self.edits(
                tracks[index].track, tracks[index].presentation, from: start, timescale)
        }
        let duration = presentations.values.map(\.duration).max() ?? 0
        let isWide = mediaEnd > Int64(UInt32.max)
        var writer = BoxWriter(reserving: 4_096)
        var tables: [(track: Int, table: FlatTrack.Table)] = []
        writer.box("moov") { writer in
            boxes.writeMovieHeader(
                timescale: timescale, duration: duration,
                nextTrackID: UInt32(TrackKind.allCases.count + 1), to: &writer)
            for index in present {
                guard let presentation = presentations[index] else { continue }
                let track = tracks[index].track
                writer.box("trak") { writer in
                    boxes.writeTrackHeader(
                        kind: track.kind, duration: presentation.duration, entry: track.entries[0],
                        to: &writer)
                    boxes.writeEdits(presentation.edits, to: &writer)
                    boxes.writeMedia(
                        kind: track.kind, timescale: track.timescale,
                        duration: MovieBoxes.declaredDuration(
                            of: UInt64(track.endDTS - (track.firstDTS ?? 0)), track.timescale,
                            inMovieOf: duration, timescale),
                        entries: track.entries, flavour: flavour, to: &writer
                    ) { writer in
                        for table in track.writeTables(isWide: isWide, to: &writer) {
                            tables.append((index, table))
                        }
                    }
                }
            }
        }
        return Self.parts(writer, tables, isWide: isWide)
    }

    private static func parts(
        _ writer: BoxWriter, _ tables: [(track: Int, table: FlatTrack.Table)], isWide: Bool
    ) -> [Part] {
        var parts: [Part] = []
        var position = 0
        for (insertion, table) in zip(writer.insertions, tables) {
            parts.append(.bytes(Array(writer.bytes[position..<insertion.position])))
            parts.append(.rows(track: table.track, table.table, isWide: isWide))
            position = insertion.position
        }
        parts.append(.bytes(Array(writer.bytes[position...])))
        return parts
    }

    /// An empty edit until the track begins, then its media from there on.
    private static func edits(
        _ track: FlatTrack, _ presentation: Presentation, from start: Instant,
        _ timescale: Timescale
    ) throws(MP4Error) -> TrackPresentation {
        func scaled(_ ticks: Int64, _ from: Timescale) throws(MP4Error) -> Int64 {
            do throws(RescaleOverflow) {
                return try rescale(ticks, from: from, to: timescale)
            } catch {
                throw .timeOverflow(track: track.kind)
            }
        }
        let begin = try scaled(presentation.start, track.timescale)
        let end = try scaled(presentation.end, track.timescale)
        var wait = begin - (try scaled(start.ticks, start.timescale))
        // A wait below one tick is the rounding of the start to the track's own ticks.
        if wait < (try scaled(1, track.timescale)) { wait = 0 }
        let length = UInt64(max(0, end - begin))
        var edits = [
            Edit(
                segmentDuration: length,
                mediaTime: max(0, presentation.start - (track.firstDTS ?? 0)))
        ]
        if wait > 0 { edits.insert(Edit(segmentDuration: UInt64(wait), mediaTime: -1), at: 0) }
        return TrackPresentation(edits: edits, duration: UInt64(wait) + length)
    }

    /// Rows of ``FlatTrack/Table/offsets`` as written, for media that begin at `mediaStart`.
    package static func placed(_ rows: [UInt8], from mediaStart: Int64, isWide: Bool) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(rows.count)
        var place = 0
        while place < rows.count {
            let relative = rows[place..<place + 8].bigEndian(at: 0, count: 8)
            let offset = UInt64(bitPattern: Int64(bitPattern: relative) + mediaStart)
            for byte in stride(from: isWide ? 56 : 24, through: 0, by: -8) {
                result.append(UInt8(truncatingIfNeeded: offset >> UInt64(byte)))
            }
            place += 8
        }
        return result
    }
}

extension FlatMovie.Part {
    /// Its size in the file, for the tracks that it was made of.
    package func sizeBytes(_ tracks: [FlatTrack]) -> Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .rows(let track, let table, let isWide):
            Int64(tracks[track].sizeBytes(of: table, isWide: isWide))
        }
    }
}

extension FlatTrack {
    /// Bytes of a table's rows in the file.
    func sizeBytes(of table: Table, isWide: Bool) -> Int {
        let rowSize = table == .offsets && !isWide ? 4 : table.rowSizeBytes
        return rows[table.rawValue] * rowSize
    }

    /// Writes the boxes after `stsd`, with insertions for their rows; returns their tables.
    func writeTables(isWide: Bool, to writer: inout BoxWriter) -> [Table] {
        var written: [Table] = []
        func box(_ type: FourCC, version: UInt8 = 0, _ table: Table) {
            writer.fullBox(type, version: version) { writer in
                if table == .sizes { writer.u32(0) }
                writer.u32(UInt32(rows[table.rawValue]))
                writer.insertion(of: sizeBytes(of: table, isWide: isWide))
            }
            written.append(table)
        }
        box("stts", .times)
        if rows[Table.syncSamples.rawValue] < count { box("stss", .syncSamples) }
        if hasCompositionOffsets {
            box("ctts", version: hasNegativeOffsets ? 1 : 0, .compositionOffsets)
        }
        box("stsc", .chunks)
        box("stsz", .sizes)
        box(isWide ? "co64" : "stco", .offsets)
        return written
    }
}
