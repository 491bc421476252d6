import Archive
import Media
import TestRecordings
import Testing

@Suite struct SegmenterTests {
    /// - Parameter changes: the formats from a batch on, where they change.
    private func record(
        _ camera: inout PlannedCamera, batches: Range<Int>, segmentSeconds: Int64 = 2,
        changes: (Int) -> [TrackFormat]? = { _ in nil }
    ) -> PlannedFiles {
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: segmentSeconds * 1_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        for index in batches {
            if let formats = changes(index) {
                segmenter.setFormats(formats)
                camera.soundBytes = formats.contains(PlannedCamera.otherAudio) ? 5 : 4
            }
            files.apply(segmenter.tick(now: Int64(index) * 100_000_000))
            files.apply(
                segmenter.add(
                    camera.batch(index), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        return files
    }

    @Test(arguments: [-2_700, -1_300, -700, -150, -40, 0, 30, 150, 350] as [Int64])
    func `every sample is in exactly one file, and sound is cut at the picture's time`(
        lag: Int64
    ) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        let files = record(&camera, batches: 0..<65)
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.plans.keys.sorted() == [1, 2, 3, 4])
        #expect(files.finished.sorted() == [1, 2, 3, 4])
        for segment in 1...4 {
            let start = Int64(segment - 1) * 2
            #expect(files.plans[segment]?.originNanoseconds == start * 1_000_000_000)
            #expect(files.samples(segment, .video).first?.pts == Int64(start * 90_000))
            let sound = files.samples(segment, .audio)
            #expect(sound.allSatisfy { $0.pts >= start * 48_000 })
            if segment < 4 { #expect(sound.allSatisfy { $0.pts < (start + 2) * 48_000 }) }
            // A file's last packet ends where the next file's first one begins.
            #expect(sound.allSatisfy { $0.duration == 1_024 })
        }
    }

    /// In the message that ends the first fragment, in the one that ends the first file, and long afterwards.
    @Test(arguments: [850, 950, 1_050, 1_850, 1_950, 2_050, 2_500] as [Int64])
    func `audio that begins late is recorded at its time, with its priming`(lag: Int64) {
        var camera = PlannedCamera(soundLagMilliseconds: lag, firstAudioPacket: -1)
        let files = record(&camera, batches: 0..<65)
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.finished.sorted() == files.plans.keys.sorted())
        #expect(files.samples(1, .audio).first?.dts == -1024)
        if lag <= 1_950 { #expect(files.plans.count == 4) }
    }

    @Test func `a file ends at the first keyframe at or after the boundary, not before`() {
        var camera = PlannedCamera(keyframeEvery: 15)
        let files = record(&camera, batches: 0..<60)
        // Keyframes at 0, 1.5, 3.0, 4.5 s; boundaries at 2 and 4 s.
        #expect(files.samples(1, .video).count == 30)
        #expect(files.plans[2]?.originNanoseconds == 2_000_000_000)
        #expect(files.samples(2, .video).first?.pts == Int64(270_000))
        #expect(files.samples(3, .video).first?.pts == 405_000)
    }

    @Test func `fragments begin at keyframes and last at most a second`() {
        var camera = PlannedCamera(keyframeEvery: 25)
        let files = record(&camera, batches: 0..<50, segmentSeconds: 600)
        var starts: [Int64] = []
        for fragment in files.fragments[1] ?? [] {
            let pictures = fragment.pieces.flatMap(\.runs).filter { $0.track == .video }
                .flatMap(\.samples)
            #expect(pictures.count <= 10)
            #expect(pictures.dropFirst().allSatisfy { !$0.flags.contains(.keyframe) })
            if let first = pictures.first { starts.append(first.pts / 9_000) }
        }
        #expect(starts == [0, 10, 20, 25, 35, 45])
    }

    @Test func `an undivided message keeps the agent's digest, a divided one does not`() {
        var camera = PlannedCamera(soundLagMilliseconds: 30)
        let files = record(&camera, batches: 0..<25)
        let pieces = files.fragments.values.joined().flatMap(\.pieces)
        #expect(pieces.filter { $0.digest != nil }.count >= 20)
        let divided = pieces.filter { $0.digest == nil }
        #expect(!divided.isEmpty)
        for piece in divided {
            #expect(piece.range.count == piece.runs.reduce(0) { $0 + $1.sizeBytes })
        }
    }

    @Test func `a late joiner's first file has the session's grid in its name`() {
        var camera = PlannedCamera()
        let files = record(&camera, batches: 130..<150, segmentSeconds: 10)
        #expect(files.plans[1]?.originNanoseconds == 10_000_000_000)
        #expect(files.samples(1, .video).first?.pts == Int64(1_170_000))
    }

    @Test func `samples before zero go to segment minus one`() {
        var camera = PlannedCamera()
        let files = record(&camera, batches: -20..<20, segmentSeconds: 10)
        #expect(files.plans[1]?.originNanoseconds == -10_000_000_000)
        #expect(files.plans[2]?.originNanoseconds == 0)
        #expect(files.samples(1, .video).count == 20)
    }

    @Test func `hidden samples of an imported file are in the file that its start begins`() {
        // A group of pictures of eight seconds, of which the last two are shown; sound begins a second before that.
        var camera = PlannedCamera(keyframeEvery: 80, firstAudioPacket: -47)
        var settings = SegmenterSettings(segmentNanoseconds: 10_000_000_000)
        settings.presentedFromNanoseconds = 0
        var segmenter = Segmenter(settings: settings, formats: PlannedCamera.formats)
        var files = PlannedFiles()
        for index in -60..<40 {
            var piece = camera.batch(index)
            if index == -60 { piece.runs[0].samples[0].flags = .keyframe }
            files.apply(
                segmenter.add(
                    piece, context: PlannedCamera.context, now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.plans.values.map(\.originNanoseconds) == [0])
        #expect(files.plans[1]?.tracks.map(\.shiftTicks) == [540_000, 288_000])
        #expect(files.samples(1, .video).count == 100)
        #expect(files.samples(1, .audio).first?.dts == -47 * 1024)
    }

    @Test func `a separate priming packet does not begin a segment before its audio`() {
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: [PlannedCamera.formats[1]])
        var files = PlannedFiles()
        for (index, dts) in [Int64(-1024), 0, 1024].enumerated() {
            let packet = PlannedSample(
                sizeBytes: 4, dts: dts, pts: dts, duration: 1024,
                flags: dts < 0 ? [.keyframe, .priming] : .keyframe, agentDTSNanoseconds: 0,
                appliedOffsetNanoseconds: 0)
            let run = PlannedRun(
                track: .audio, firstSequence: UInt64(index + 1), samples: [packet])
            let piece = PlannedPiece(
                payload: ArrayPayload([0, 0, 0, 0]), range: 0..<4, digest: .zero, runs: [run])
            files.apply(segmenter.add(piece, context: PlannedCamera.context, now: 0))
        }
        files.apply(segmenter.end())
        #expect(files.plans.values.map(\.originNanoseconds) == [0])
        #expect(files.plans[1]?.tracks.first?.shiftTicks == 1024)
        #expect(files.sequences == [1, 2, 3])
    }

    @Test func `a new format begins a new file at that instant`() {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        for index in 0..<40 {
            if index == 20 {
                segmenter.setFormats([PlannedCamera.otherPicture, PlannedCamera.formats[1]])
            }
            files.apply(
                segmenter.add(
                    camera.batch(index), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.plans[1]?.tracks[0].format == PlannedCamera.formats[0])
        #expect(files.plans[2]?.tracks[0].format != PlannedCamera.formats[0])
        #expect(files.plans[2]?.originNanoseconds == 2_000_000_000)
        #expect(files.samples(1, .video).count == 20)
        #expect(files.sequences == Array(1..<camera.sequence))
    }

    /// Sound that is late at the cut by a usual delay; by more than the patience; and so late that another cut comes
    /// first.
    @Test(arguments: [-150, 30, 150, 350, 950, 2_500] as [Int64])
    func `audio from before a picture's new format is recorded, however late it comes`(lag: Int64) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        let files = record(&camera, batches: 0..<65, segmentSeconds: 10) { index in
            [
                20: [PlannedCamera.otherPicture, PlannedCamera.formats[1]],
                25: PlannedCamera.formats,
            ][index]
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.plans[2]?.originNanoseconds == 2_000_000_000)
        #expect(files.finished.sorted() == files.plans.keys.sorted())
        files.expectNothingHidden()
        if lag < 950 {
            #expect(files.plans.count == 3)
            let ends = [2_000, 2_500, 6_500] as [Int64]
            // Sound ahead of the picture may already be in the previous file.
            for (segment, end) in zip(1...3, ends) where lag > 0 {
                #expect(files.samples(segment, .audio).allSatisfy { $0.pts < end * 48 })
            }
        }
    }

    /// In the middle of a group of pictures, at its beginning, and several times.
    @Test(arguments: [[14], [20], [5, 14, 35]], [-150, 30, 150] as [Int64])
    func `a file with another format of sound begins with a picture that can be decoded`(
        changes: [Int], lag: Int64
    ) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        let files = record(&camera, batches: 0..<65, segmentSeconds: 10) { index in
            changes.firstIndex(of: index).map {
                [
                    PlannedCamera.formats[0],
                    $0 % 2 == 0 ? PlannedCamera.otherAudio : PlannedCamera.formats[1],
                ]
            }
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.finished.sorted() == files.plans.keys.sorted())
        files.expectNothingHidden()
        #expect(files.plans.count == changes.count + 1)
        for (segment, plan) in files.plans {
            let first = files.samples(segment, .video).first
            #expect(first?.flags.contains(.keyframe) ?? true, "file \(segment)")
            let isOther = plan.tracks.contains { $0.format == PlannedCamera.otherAudio }
            #expect(isOther == (segment % 2 == 0))
        }
    }

    @Test(arguments: [-150, 150] as [Int64])
    func `both formats change at once, and sound of the new one is earlier than its pictures`(
        lag: Int64
    ) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        let files = record(&camera, batches: 0..<40, segmentSeconds: 10) { index in
            index == 20 ? [PlannedCamera.otherPicture, PlannedCamera.otherAudio] : nil
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.plans.count == 2)
        files.expectNothingHidden()
        let sound = files.samples(2, .audio).first
        guard lag > 0 else { return }
        #expect(sound.map { $0.pts < 96_000 } == true)
        #expect(files.plans[2]?.tracks.last?.originTicks == sound?.pts)
    }

    /// An agent resumes with other pictures after two seconds; its sound is slightly earlier, in the same message or
    /// the one before.
    @Test(arguments: [0, 30, 150, 350] as [Int64])
    func `sound after a pause is in the file of the pictures that follow`(lead: Int64) {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        func add(_ piece: PlannedPiece, at index: Int) {
            files.apply(
                segmenter.add(
                    piece, context: PlannedCamera.context, now: Int64(index) * 100_000_000))
        }
        for index in 0..<20 { add(camera.batch(index), at: index) }
        camera.skip(untilMilliseconds: 4_000 - lead)
        segmenter.setFormats([PlannedCamera.otherPicture, PlannedCamera.formats[1]])
        for index in 40..<60 {
            let piece = camera.batch(index)
            // Sound earlier than the picture by more than a message arrived before it.
            for part in index == 40 && lead > 100 ? piece.byTrack : [piece] { add(part, at: index) }
        }
        files.apply(segmenter.end())
        #expect(files.plans.keys.sorted() == [1, 2])
        #expect(files.finished == [1, 2])
        files.expectNothingHidden()
        let before = files.samples(1, .audio)
        #expect(before.dropLast().allSatisfy { $0.duration == 1024 })
        // A packet more would have reached beyond the last picture.
        #expect(before.last.map { $0.pts + $0.duration } == Int64(96_000))
        let first = files.samples(2, .audio).first?.pts ?? 0
        #expect(first >= (4_000 - lead - 22) * 48 && first <= 4_000 * 48)
        #expect(files.samples(2, .video).count == 20)
        let origin = files.plans[2]?.originNanoseconds ?? 0
        #expect(abs(origin - min(first * 1_000_000 / 48, 4_000_000_000)) < 1_000_000)
    }

    /// A late following sample determines durations; a file's index uses decoding times alone.
    @Test(arguments: [50, 150, 400] as [Int64])
    func `the last audio packet is extended to the pictures' end if that is near`(lag: Int64) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        for index in 0..<5 {
            files.apply(
                segmenter.add(
                    camera.batch(index), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.tick(now: 10_000_000_000))
        let last = files.samples(1, .audio).last
        let end = last.map { $0.pts + $0.duration }
        if lag <= 250 {
            #expect(end == Int64(24_000))
        } else {
            #expect(last?.duration == 1024)
        }
    }

    @Test func `audio in a new format waits for a picture only for a limited time`() {
        var camera = PlannedCamera(keyframeEvery: 1_000)
        let files = record(&camera, batches: 0..<200, segmentSeconds: 60) { index in
            index == 15 ? [PlannedCamera.formats[0], PlannedCamera.otherAudio] : nil
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.plans.count == 2)
        #expect(files.samples(2, .audio).first.map { $0.pts < 2 * 48_000 } == true)
        #expect(files.samples(2, .video).count < 100)
    }

    @Test func `audio whose format changes twice before a keyframe gets its own files`() {
        var camera = PlannedCamera()
        let files = record(&camera, batches: 0..<65, segmentSeconds: 10) { index in
            [23: [PlannedCamera.formats[0], PlannedCamera.otherAudio], 26: PlannedCamera.formats][
                index]
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.plans.count == 3)
        files.expectNothingHidden()
    }

    @Test func `audio in a new format that waits is written when the source ends`() {
        var camera = PlannedCamera()
        let files = record(&camera, batches: 0..<19, segmentSeconds: 60) { index in
            index == 12 ? [PlannedCamera.formats[0], PlannedCamera.otherAudio] : nil
        }
        #expect(files.sequences == Array(1..<camera.sequence))
        #expect(files.finished == [1, 2])
        #expect(!files.samples(2, .audio).isEmpty)
    }

    @Test func `a source without pictures is cut at the packet`() {
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 1_000_000_000),
            formats: [PlannedCamera.formats[1]])
        var files = PlannedFiles()
        for index in 0..<20 {
            let packets = (0..<5).map { offset in
                PlannedSample(
                    sizeBytes: 4, dts: Int64(index * 5 + offset) * 1024,
                    pts: Int64(index * 5 + offset) * 1024, duration: 1024, flags: .keyframe,
                    agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
            }
            let run = PlannedRun(
                track: .audio, firstSequence: UInt64(index * 5 + 1), samples: packets)
            files.apply(
                segmenter.add(
                    PlannedPiece([run]), context: PlannedCamera.context,
                    now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.sequences == Array(1...100))
        #expect(files.samples(1, .audio).last.map { $0.pts < 48_000 } == true)
        #expect(files.samples(2, .audio).first.map { $0.pts >= 48_000 } == true)
        #expect(files.samples(2, .audio).first?.pts == Int64(48_128))
    }

    @Test func `a fragment that the agent does not continue is written after a while`() {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 10_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        files.apply(segmenter.add(camera.batch(0), context: PlannedCamera.context, now: 0))
        files.apply(segmenter.tick(now: 1_000_000_000))
        #expect(files.fragments.isEmpty)
        files.apply(segmenter.tick(now: 2_000_000_000))
        #expect(files.fragments[1]?.count == 1)
        #expect(files.finished.isEmpty)
    }

    @Test func `a sample lasts until the next one, also across fragments`() {
        var camera = PlannedCamera()
        let files = record(&camera, batches: 0..<30, segmentSeconds: 600)
        for sample in files.samples(1, .video) { #expect(sample.duration == 9_000) }
        for sample in files.samples(1, .audio) { #expect(sample.duration == 1_024) }
    }

    @Test func `no file goes back in time, earlier samples get a file of their own`() {
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 60_000_000_000),
            formats: [PlannedCamera.formats[1]])
        var (files, sequence) = (PlannedFiles(), UInt64(1))
        for time in [0, 1, 2, 1, 3, 4] as [Int64] {
            let piece = second(time, rate: 48_000, firstSequence: &sequence)
            files.apply(
                segmenter.add(piece, context: PlannedCamera.context, now: time * 1_000_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.sequences == Array(1..<sequence))
        #expect(files.plans.count == 2 && files.finished.sorted() == [1, 2])
        for file in 1...2 {
            let times = files.samples(file, .audio).map(\.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    /// Packets of one second of sound, in ticks of their own rate.
    private func second(
        _ second: Int64, rate: Int64, firstSequence: inout UInt64
    ) -> PlannedPiece {
        let first = second * rate / 1_024
        let samples = (first..<(second + 1) * rate / 1_024).map {
            PlannedSample(
                sizeBytes: 4, dts: $0 * 1_024, pts: $0 * 1_024, duration: 1_024, flags: .keyframe,
                agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
        }
        defer { firstSequence += UInt64(samples.count) }
        return PlannedPiece([
            PlannedRun(track: .audio, firstSequence: firstSequence, samples: samples)
        ])
    }

    /// At another rate the same instant has other ticks, which must not be compared.
    @Test(arguments: [(48_000, 16_000), (16_000, 48_000)] as [(UInt32, UInt32)], [false, true])
    func `audio at a new rate has its own file, at its time`(
        rates: (before: UInt32, after: UInt32), withPictures: Bool
    ) {
        func sound(_ rate: UInt32) -> TrackFormat {
            .audio(.aac(configuration: [0x11, 0x88], sampleRate: rate, channels: 1))
        }
        let pictures = withPictures ? [PlannedCamera.formats[0]] : []
        let others = withPictures ? [PlannedCamera.otherPicture] : []
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 60_000_000_000),
            formats: pictures + [sound(rates.before)])
        var (files, sequence, pictured) = (PlannedFiles(), UInt64(1), UInt64(10_000))
        for time in 0..<40 as Range<Int64> {
            if time == 30 { segmenter.setFormats(others + [sound(rates.after)]) }
            var pieces: [PlannedPiece] = []
            if withPictures {
                let picture = PlannedSample(
                    sizeBytes: 4, dts: time * 90_000, pts: time * 90_000, duration: 90_000,
                    flags: .keyframe, agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
                let run = PlannedRun(track: .video, firstSequence: pictured, samples: [picture])
                pieces.append(PlannedPiece([run]))
                pictured += 1
            }
            let rate = Int64(time < 30 ? rates.before : rates.after)
            pieces.append(second(time, rate: rate, firstSequence: &sequence))
            for piece in pieces {
                files.apply(
                    segmenter.add(piece, context: PlannedCamera.context, now: time * 1_000_000_000))
            }
            files.apply(segmenter.tick(now: time * 1_000_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.sequences.filter { $0 < 10_000 } == Array(1..<sequence))
        #expect(files.plans.count == 2 && files.finished.sorted() == [1, 2])
        #expect(files.plans[1]?.tracks.last?.format == sound(rates.before))
        #expect(files.plans[2]?.tracks.last?.format == sound(rates.after))
        let begins = files.plans[2]?.originNanoseconds ?? 0
        #expect((29_900_000_000...30_000_000_000).contains(begins))
        for file in 1...2 {
            #expect(files.samples(file, .audio).allSatisfy { $0.duration <= 2_048 })
        }
    }

    @Test func `late audio after a change of rate is in no file of the old rate`() {
        func sound(_ rate: UInt32) -> TrackFormat {
            .audio(.aac(configuration: [0x11, 0x88], sampleRate: rate, channels: 1))
        }
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 60_000_000_000),
            formats: [PlannedCamera.formats[0], sound(16_000)])
        var (files, sequence, pictured) = (PlannedFiles(), UInt64(1), UInt64(10_000))
        func add(_ second: Int64, _ rate: Int64) {
            let piece = self.second(second, rate: rate, firstSequence: &sequence)
            files.apply(segmenter.add(piece, context: PlannedCamera.context, now: 0))
        }
        func addPicture(_ second: Int64) {
            let picture = PlannedSample(
                sizeBytes: 4, dts: second * 90_000, pts: second * 90_000, duration: 90_000,
                flags: .keyframe, agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
            let run = PlannedRun(track: .video, firstSequence: pictured, samples: [picture])
            pictured += 1
            files.apply(segmenter.add(PlannedPiece([run]), context: PlannedCamera.context, now: 0))
        }
        for second in 100..<103 as Range<Int64> {
            addPicture(second)
            add(second, 16_000)
        }
        // It was late and has its own file.
        add(50, 16_000)
        segmenter.setFormats([PlannedCamera.formats[0], sound(48_000)])
        add(103, 48_000)
        addPicture(103)
        addPicture(104)
        add(52, 48_000)
        files.apply(segmenter.end())
        for (number, plan) in files.plans {
            let isOld = plan.tracks.last?.format == sound(16_000)
            let (rate, seconds): (Int64, [Int64]) =
                isOld ? (16_000, [50, 100, 101, 102]) : (48_000, [52, 103, 104])
            for sample in files.samples(number, .audio) {
                // A packet may begin a little before its second.
                let second = (sample.dts + 1_024) / rate
                #expect(seconds.contains(second), "file \(number), second \(second)")
            }
        }
        #expect(files.sequences.filter { $0 < 10_000 }.sorted() == Array(1..<sequence))
    }

    /// Late sound with backward stamps is placed one tick apart regardless of its stated duration: in the open file, in
    /// the file waiting for it, and in one of its own.
    @Test(arguments: [0, 150, 2_500] as [Int64])
    func `the duration of late audio is derived from its PTS`(lag: Int64) {
        var camera = PlannedCamera(soundLagMilliseconds: lag)
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 2_000_000_000),
            formats: PlannedCamera.formats)
        var (files, placed) = (PlannedFiles(), [Int64]())
        for index in 0..<65 {
            var piece = camera.batch(index)
            for run in piece.runs.indices where piece.runs[run].track == .audio {
                for sample in piece.runs[run].samples.indices {
                    let packet = piece.runs[run].samples[sample].dts / 1_024
                    let dts = packet < 85 ? packet * 1_024 : 85 * 1_024 + packet - 85
                    piece.runs[run].samples[sample].dts = dts
                    piece.runs[run].samples[sample].pts = dts
                    placed.append(dts)
                }
            }
            files.apply(
                segmenter.add(
                    piece, context: PlannedCamera.context, now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        let written = files.plans.keys.flatMap { files.samples($0, .audio).map(\.dts) }
        #expect(written.sorted() == placed)
    }

    @Test func `a sample just before a file's start is presented, with a larger bound`() {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 2_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        var context = PlannedCamera.context
        context.clock.boundNanoseconds = 5_000
        for index in 0..<40 {
            // About 20 µs early, as between two clocks.
            var piece = camera.batch(index)
            for run in piece.runs.indices {
                let early: Int64 = piece.runs[run].track == .video ? 2 : 1
                for sample in piece.runs[run].samples.indices {
                    piece.runs[run].samples[sample].dts -= early
                    piece.runs[run].samples[sample].pts -= early
                }
            }
            files.apply(
                segmenter.add(
                    piece, context: context, now: Int64(index) * 100_000_000))
        }
        files.apply(segmenter.end())
        #expect(files.plans[2]?.originNanoseconds == 2_000_000_000)
        // Presented at the beginning and decoded at its own time; the next one is unchanged.
        let pictures = files.samples(2, .video)
        #expect(pictures.prefix(2).map(\.pts) == [180_000, 189_000 - 2])
        #expect(pictures.first?.dts == Int64(179_998))
        // Its fragment's bound includes that, and no other bound does.
        let bounds = files.fragments[2]?.map(\.context.clock.boundNanoseconds)
        #expect(bounds?.first == 27_222 && bounds?.dropFirst() == [5_000], "\(bounds ?? [])")
        // Packets are 1024 ticks; the one at 96,255 is the first at or after 2 s.
        #expect(files.samples(2, .audio).first?.pts == Int64(96_255))
        #expect(files.sequences == Array(1...UInt64(files.sequences.count)))
    }

    @Test func `a fragment's clock bound is the largest of its samples`() {
        var camera = PlannedCamera()
        var segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: 2_000_000_000),
            formats: PlannedCamera.formats)
        var files = PlannedFiles()
        for (index, bound) in [900, 100, 100].enumerated() {
            var context = PlannedCamera.context
            context.clock.boundNanoseconds = UInt64(bound)
            files.apply(segmenter.add(camera.batch(index), context: context, now: 0))
        }
        files.apply(segmenter.end())
        #expect(files.fragments[1]?.map(\.context.clock.boundNanoseconds) == [900])
    }
}
