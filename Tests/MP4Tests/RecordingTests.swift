import Media
import Testing

@testable import MP4

/// A recording grows, is cut anywhere, is finished and is read back.
struct RecordingTests {
    private func scan(
        _ bytes: [UInt8]
    ) throws -> (fragments: [ScannedFragment], scanner: FragmentScanner<MemorySource>) {
        var scanner = try FragmentScanner(MemorySource(bytes))
        var fragments: [ScannedFragment] = []
        while let fragment = try scanner.next() { fragments.append(fragment) }
        return (fragments, scanner)
    }

    @Test
    func `the placeholder is at its stated offset, within the first sector`() throws {
        let recorder = try Recorder(.handmade())
        let offset = Int(FragmentedHeader.placeholderOffset)
        #expect(recorder.bytes[offset..<offset + 8] == [0, 0, 0, 16, 0x66, 0x72, 0x65, 0x65])
        #expect(offset + FragmentedHeader.placeholderSizeBytes <= 512)
    }

    @Test
    func `a header has the formats of its tracks`() throws {
        let clip = Clip.handmade()
        let recorder = try Recorder(clip)
        let movie = try Movie.read(from: MemorySource(recorder.bytes))
        #expect(movie.isFragmented)
        #expect(movie.createdUnixSeconds == Recorder.created)
        #expect(movie.tracks.map(\.format) == clip.tracks.map(\.format))
        #expect(movie.tracks.map(\.id) == [1, 2])
        #expect(movie.tracks.map(\.timescale.ticksPerSecond) == [90_000, 48_000])
        #expect(movie.tracks.map(\.mediaTimeShift) == [0, 1_024])
    }

    @Test
    func `scanning gives back every sample that was written, in both phases`() throws {
        let clip = Clip.handmade()
        let recorder = try Recorder(clip)
        let shift: [TrackKind: Int64] = [.video: 0, .audio: 1_024]
        for (phase, bytes) in [(false, recorder.bytes), (true, try recorder.finished())] {
            let (fragments, scanner) = try scan(bytes)
            #expect(scanner.layout.isFinished == phase)
            #expect(scanner.stop == .end)
            #expect(fragments.count == recorder.boundaries.count - 1)
            #expect(fragments.map(\.media.upperBound) == Array(recorder.boundaries.dropFirst()))
            #expect(fragments.map(\.sequenceNumber) == [1, 2, 3])
            #expect(
                fragments.first?.userBoxes == [
                    UserBox(userType: Array(0..<16), payload: Array("fragment 1".utf8))
                ])
            for track in clip.tracks {
                let found = fragments.flatMap(\.runs).filter { $0.track == track.format.kind }
                    .flatMap(\.samples)
                #expect(found.count == track.samples.count)
                for (sample, original) in zip(found, track.samples) {
                    #expect(sample.dts == original.dts + (shift[track.format.kind] ?? 0))
                    #expect(sample.pts - sample.dts == original.pts - original.dts)
                    #expect(sample.isSync == original.isSync)
                    let place = Int(sample.offset)
                    #expect(
                        Array(bytes[place..<place + Int(sample.sizeBytes)]) == original.bytes)
                }
            }
        }
    }

    @Test
    func `a file cut at any byte of its last fragment is valid up to the one before`() throws {
        let recorder = try Recorder(.handmade(pictures: 30, group: 10))
        let last = recorder.boundaries.count - 1
        let whole = recorder.boundaries[last]
        let before = recorder.boundaries[last - 1]
        for cut in before..<whole {
            let bytes = Array(recorder.bytes[..<Int(cut)])
            let (fragments, scanner) = try scan(bytes)
            #expect(fragments.count == last - 1, "cut at \(cut)")
            #expect(scanner.validEnd == before, "cut at \(cut)")
            #expect(
                scanner.stop == (cut == before ? .end : .torn(at: before)), "cut at \(cut)")
        }
    }

    @Test
    func `a fragment that was not sealed is torn at any length`() throws {
        let recorder = try Recorder(.handmade(pictures: 30, group: 10))
        let before = recorder.boundaries[recorder.boundaries.count - 2]
        for cut in before + 1...Int64(recorder.bytes.count) {
            let (fragments, scanner) = try scan(try recorder.growing(to: cut))
            #expect(fragments.count == recorder.boundaries.count - 2, "cut at \(cut)")
            #expect(scanner.validEnd == before, "cut at \(cut)")
            #expect(scanner.stop == .torn(at: before), "cut at \(cut)")
        }
    }

    @Test
    func `a tail of zeros, as a power cut leaves it, is not a fragment`() throws {
        let recorder = try Recorder(.handmade())
        let (fragments, scanner) = try scan(recorder.bytes + Array(repeating: 0, count: 5_000))
        #expect(fragments.count == 3)
        #expect(scanner.validEnd == Int64(recorder.bytes.count))
        guard case .damaged = scanner.stop else {
            Issue.record("stopped because of \(String(describing: scanner.stop))")
            return
        }
    }

    @Test
    func `a finished file that lost its end is valid up to its last whole fragment`() throws {
        let recorder = try Recorder(.handmade())
        let finished = try recorder.finished()
        for more in [0, 100] {
            let cut = Int(recorder.boundaries[2]) + more
            let (fragments, scanner) = try scan(Array(finished[..<cut]))
            #expect(fragments.count == 2)
            #expect(scanner.layout.isFinished)
            #expect(scanner.stop == .torn(at: recorder.boundaries[2]))
        }
    }

    @Test
    func `a sample outside its fragment's media is damage`() throws {
        let recorder = try Recorder(.handmade(sound: false))
        let (fragments, _) = try scan(recorder.bytes)
        // The last sample's size is the last field of the last trun, which the uuid box follows.
        let tail = fragments[1].userBoxes[0].bytes.count + 1
        var changed = recorder.bytes
        changed[Int(fragments[1].moof.upperBound) - tail] += 1
        let (found, scanner) = try scan(changed)
        #expect(found.count == 1)
        #expect(scanner.validEnd == recorder.boundaries[1])
        guard case .damaged(.invalid("trun", _, _)) = scanner.stop else {
            Issue.record("stopped because of \(String(describing: scanner.stop))")
            return
        }
    }

    @Test
    func `between the two last writes the scanner finds the final moov`() throws {
        let recorder = try Recorder(.handmade())
        let (fragments, scanner) = try scan(try recorder.halfFinished())
        #expect(fragments.count == 3)
        #expect(scanner.stop == .finalMovie(at: Int64(recorder.bytes.count)))
        #expect(scanner.validEnd == Int64(recorder.bytes.count))
    }

    @Test
    func `a final moov that was not written out is cut off like any torn tail`() throws {
        let recorder = try Recorder(.handmade())
        let half = try recorder.halfFinished()
        let (_, scanner) = try scan(Array(half.dropLast(1)))
        #expect(scanner.stop == .torn(at: Int64(recorder.bytes.count)))
    }

    @Test
    func `a finished file is ftyp, mdat, moov and has no mvex`() throws {
        let finished = try Recorder(.handmade()).finished()
        let tree = try BoxTree(of: MemorySource(finished))
        #expect(tree.boxes.map(\.type) == ["ftyp", "mdat", "moov"])
        #expect(tree.damage == nil)
        #expect(try !Movie.read(from: MemorySource(finished)).isFragmented)
    }

    @Test
    func `the final moov has every sample's offset and time`() throws {
        let clip = Clip.handmade(start: 45_000)
        let recorder = try Recorder(clip)
        let finished = try recorder.finished()
        let movie = try Movie.read(from: MemorySource(finished))
        #expect(movie.timescale.ticksPerSecond == 720_000)
        for (track, original) in zip(movie.tracks, clip.tracks) {
            #expect(track.samples.count == original.samples.count)
            let first = try #require(original.samples.first)
            for (index, sample) in original.samples.enumerated() {
                #expect(track.samples.dts[index] == sample.dts - first.dts)
                #expect(track.samples.pts(index) == sample.pts - first.dts)
                let place = Int(track.samples.offsets[index])
                let size = Int(track.samples.sizesBytes[index])
                #expect(Array(finished[place..<place + size]) == sample.bytes)
            }
        }
        // Half a second in; sound has 1,024 samples of priming before it.
        #expect(
            movie.tracks.map(\.edits) == [
                [
                    Edit(segmentDuration: 360_000, mediaTime: -1),
                    Edit(segmentDuration: 75 * 3_600 * 8, mediaTime: 0),
                ],
                [
                    Edit(segmentDuration: 360_000, mediaTime: -1),
                    Edit(segmentDuration: 140 * 1_024 * 15, mediaTime: 1_024),
                ],
            ])
        #expect(movie.tracks[0].samples.syncSamples == [0, 25, 50])
        #expect(movie.tracks[1].samples.syncSamples == nil)
    }

    @Test
    func `a track without samples is left out of the final moov`() throws {
        var clip = Clip.handmade()
        clip.tracks[1].samples = []
        let movie = try Movie.read(from: MemorySource(try Recorder(clip).finished()))
        #expect(movie.tracks.map(\.kind) == [.video])
        #expect(movie.timescale.ticksPerSecond == 90_000)
    }

    @Test
    func `a file without fragments cannot be finished`() throws {
        let recorder = try Recorder(.handmade(pictures: 0, sound: false))
        #expect(throws: MP4Error.noSamples) { try Recorder.finish(recorder.bytes) }
    }

    @Test
    func `the next decoding time determines a sample's duration`() throws {
        var clip = Clip.handmade(sound: false)
        // Two seconds are missing between two fragments, one tick within a batch.
        for index in 25..<75 { clip.tracks[0].samples[index].dts += 180_000 }
        for index in 25..<75 { clip.tracks[0].samples[index].pts += 180_000 }
        let recorder = try Recorder(clip)
        let movie = try Movie.read(from: MemorySource(try recorder.finished()))
        #expect(movie.tracks[0].samples.durations[24] == 183_600)
        #expect(movie.tracks[0].samples.dts[25] == 25 * 3_600 + 180_000)
        #expect(movie.tracks[0].duration == 75 * 3_600 + 180_000)
    }

    @Test
    func `samples presented before the file begins are hidden by the edit list`() throws {
        let clip = Clip.handmade(sound: false, start: -9_000)
        let movie = try Movie.read(from: MemorySource(try Recorder(clip).finished()))
        #expect(
            movie.tracks[0].edits == [
                Edit(segmentDuration: 75 * 3_600 - 9_000, mediaTime: 9_000)
            ])
    }

    @Test
    func `a start hours after the origin uses 64-bit times`() throws {
        let clip = Clip.handmade(start: 3 * 3_600 * 90_000)
        let movie = try Movie.read(from: MemorySource(try Recorder(clip).finished()))
        for track in movie.tracks {
            #expect(track.edits[0] == Edit(segmentDuration: 3 * 3_600 * 720_000, mediaTime: -1))
        }
        #expect(movie.duration == 3 * 3_600 * 720_000 + 75 * 3_600 * 8)
    }

    @Test
    func `past four gigabytes chunk offsets have 64 bits`() throws {
        let recorder = try Recorder(.handmade())
        var (fragments, scanner) = try scan(recorder.bytes)
        for index in fragments[2].runs.indices {
            for sample in fragments[2].runs[index].samples.indices {
                fragments[2].runs[index].samples[sample].offset += 5 << 30
            }
        }
        var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
        for fragment in fragments { try builder.append(fragment) }
        let moov = try BoxView(try builder.movie(), at: 0)
        let movie = try Movie(parsing: moov, fileSizeBytes: 6 << 30)
        #expect(movie.tracks[0].samples.offsets.last.map { $0 > 5 << 30 } == true)
        #expect(throws: MP4Error.self) { try Movie(parsing: moov, fileSizeBytes: 5 << 30) }
    }

    @Test
    func `decoding times that go back are refused`() throws {
        let recorder = try Recorder(.handmade(sound: false))
        let (fragments, scanner) = try scan(recorder.bytes)
        var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
        try builder.append(fragments[1])
        #expect(throws: MP4Error.decodingTime(track: .video, previous: 176_400, next: 0)) {
            try builder.append(fragments[0])
        }
    }
}
