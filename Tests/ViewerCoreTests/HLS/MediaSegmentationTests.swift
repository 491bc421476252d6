import Archive
import Library
import Media
import Recordings
import Testing
import TestRecordings
import TestSpools
import ViewerCore

/// How recordings are divided into media segments.
@Suite struct MediaSegmentationTests {
    private static let second = WrittenFragments.second

    /// The argument: whether the audio priming is a fragment of its own.
    @Test(arguments: [false, true])
    func `groups are joined up to four seconds, and never across files`(
        _ isPrimedAlone: Bool
    ) throws {
        let session = try WrittenSession(primedAlone: isPrimedAlone) { _ in 0 }
        let camera = try RecordedCamera(session)
        let found = try camera.segmentation()
        #expect(found.isFinished)
        #expect(found.files.map(\.originNanoseconds) == [0, 5 * Self.second])
        #expect(
            found.files.map(\.name) == ["2026-11-20T22-40-00.000Z", "2026-11-20T22-40-05.000Z"])
        #expect(found.segments.map(\.file) == [0, 0, 1, 1])
        #expect(found.seconds == [4, 1, 4, 1])
        #expect(found.starts == [0, 4, 5, 9])
        #expect(found.segments.allSatisfy { !$0.followsGap })
        // Every byte of every fragment is in one of them.
        let files = try camera.source.playback(0..<20 * Self.second).files
        for (index, file) in files.enumerated() {
            let ranges = found.segments.filter { $0.file == index }.map(\.range)
            var cursor = try FileCursor(file.file)
            #expect(try ranges.first?.lowerBound == cursor.next()?.range.lowerBound)
            #expect(ranges.last?.upperBound == file.fragments.last?.range.upperBound)
            for (one, next) in zip(ranges, ranges.dropFirst()) {
                #expect(one.upperBound == next.lowerBound)
            }
        }
    }

    @Test func `a summary equals its fragment`() throws {
        for reordered in [false, true] {
            let session = try WrittenSession(reordered: reordered, primed: true) { _ in 3_000_000 }
            var reader = FragmentReader(try RecordedCamera(session).source)
            var count = 0
            while let fragment = try reader.next() {
                count += 1
                let summary = FragmentOutline(fragment)
                let pictures = fragment.samples.filter { $0.track == .video && !$0.isHidden }
                #expect(summary.range == fragment.range)
                #expect(summary.mainEndNanoseconds == pictures.map(\.endNanoseconds).max())
                #expect(summary.lastEndNanoseconds == fragment.endNanoseconds)
                #expect(summary.decodableFromNanoseconds == fragment.decodableFromNanoseconds)
            }
            #expect(count == 10)
        }
    }

    @Test func `the last group of a growing file waits for its end`() throws {
        let session = try WrittenSession(state: .recording, finished: false) { _ in 0 }
        var found = try RecordedCamera(session).segmentation(isGrowing: true)
        // Sound of the first file may still arrive, so the second one waits.
        #expect(found.starts == [0])
        #expect(!found.isFinished)
        found.finishFile(0)
        #expect(found.starts == [0, 4, 5])
        found.finish()
        #expect(found.starts == [0, 4, 5, 9])
        #expect(found.isFinished)
    }

    @Test func `media that cannot be decoded are omitted at the beginning of a file`() {
        var fragments = WrittenFragments()
        fragments.addHidden(soundEnd: 1)
        fragments.add(1...2, isKey: false)
        fragments.add(2...3, isKey: true)
        fragments.add(3...4, isKey: false)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [2] && found.seconds == [2])
        #expect(found.segments.map(\.range) == [3_187..<5_187])
        // A file without any keyframe has no segments.
        var none = WrittenFragments()
        none.add(5...6, isKey: false)
        found.add(none, name: "b", origin: 5)
        found.finish()
        #expect(found.segments.count == 1 && found.files.count == 2)
    }

    @Test func `sound that precedes the first picture is part of the first segment`() {
        var fragments = WrittenFragments()
        fragments.addSound(0...0.3)
        fragments.addSound(0.3...0.7)
        fragments.add(0.7...1, isKey: true)
        fragments.add(1...2, isKey: false)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [0] && found.seconds == [2])
        #expect(found.segments[0].range == 1_187..<5_187)
        // Pictures in between that cannot be decoded would be shown.
        var broken = WrittenFragments()
        broken.addSound(5...5.3)
        broken.add(5.3...6, isKey: false)
        broken.addSound(5.9...6)
        broken.add(6...7, isKey: true)
        found.add(broken, name: "b", origin: 5)
        #expect(found.starts == [0, 5.9])
        #expect(found.segments[1].range == 3_187..<5_187)
        // There is no segment of audio without a picture.
        var sound = WrittenFragments()
        sound.addSound(8...9)
        found.add(sound, name: "c", origin: 8)
        found.finish()
        #expect(found.segments.count == 2)
    }

    @Test func `samples that are only decoded begin a segment, without a duration`() {
        var fragments = WrittenFragments()
        fragments.addHidden(keyAt: -3)
        fragments.add(0...1, isKey: false)
        fragments.add(1...2, isKey: true)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [0] && found.seconds == [2])
        var hidden = WrittenFragments()
        hidden.addHidden(keyAt: 8)
        hidden.add(10...11, isKey: true)
        found.add(hidden, name: "b", origin: 10)
        #expect(found.starts == [0, 10] && found.seconds == [2, 1])
        #expect(found.segments[1].range == 1_187..<3_187)
    }

    @Test func `a gap ends a segment, and is not part of it`() {
        var fragments = WrittenFragments(seconds: 0..<2)
        fragments.add(7...8, isKey: true)
        fragments.add(8...9, isKey: true)
        // Late by less than a gap.
        fragments.add(9.4...10, isKey: true)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [0, 7] && found.seconds == [2, 3])
        #expect(found.segments.map(\.followsGap) == [false, true])
    }

    @Test func `audio without pictures is part of a segment`() {
        var fragments = WrittenFragments(seconds: 0..<1)
        for second in 1..<20 { fragments.addHidden(soundEnd: Double(second + 1)) }
        fragments.add(20...21, isKey: true, soundEnd: 21.02)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [0, 20] && found.seconds == [20, 1])
        #expect(found.segments[1].followsGap)
    }

    @Test func `a pause within a group is part of its segment`() {
        var fragments = WrittenFragments()
        fragments.add(0...1, isKey: true)
        fragments.add(15...16, isKey: false)
        fragments.add(16...17, isKey: true)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [0, 16] && found.seconds == [16, 1])
        #expect(!found.segments[1].followsGap)
    }

    @Test func `decreasing times of a damaged file give no negative duration`() {
        var fragments = WrittenFragments(seconds: 5..<8)
        fragments.add(2...3, isKey: true)
        fragments.add(3...3, isKey: true)
        fragments.add(3...4, isKey: true)
        var found = MediaSegmentation()
        found.add(fragments, name: "a")
        #expect(found.starts == [5, 2])
        #expect(found.segments.allSatisfy { $0.durationNanoseconds > 0 })
        #expect(found.segments.map(\.followsGap) == [false, true])
    }

    @Test func `a file that begins before a known one is left out`() {
        var found = MediaSegmentation()
        #expect(found.add(WrittenFragments(seconds: 10..<12), name: "b", origin: 10) == 0)
        #expect(found.add(WrittenFragments(seconds: 0..<2), name: "a", origin: 0) == nil)
        #expect(found.add(WrittenFragments(seconds: 12..<13), name: "c", origin: 12) == 1)
        #expect(found.index(ofFile: "c") == 1 && found.index(ofFile: "a") == nil)
        found.finish()
        #expect(found.starts == [10, 12])
        #expect(found.add(WrittenFragments(seconds: 20..<21), name: "d", origin: 20) == nil)
    }

    @Test func `fragments that are appended twice, or after the end, change nothing`() {
        let fragments = WrittenFragments(seconds: 0..<6)
        var once = MediaSegmentation()
        once.add(fragments, name: "a")
        var twice = MediaSegmentation()
        let index = twice.add(fragments, name: "a", isFinished: false) ?? -1
        for fragment in fragments.fragments { twice.append(fragment, toFile: index) }
        twice.finishFile(index)
        for fragment in fragments.fragments { twice.append(fragment, toFile: index) }
        twice.finishFile(index)
        #expect(twice.segments == once.segments)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `segments of irregular groups are bounded and whole`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var found = MediaSegmentation()
        var all: [FragmentOutline] = []
        var longest: Int64 = 0
        var time = 0.0
        for file in 0..<3 {
            var fragments = WrittenFragments()
            let origin = time
            for number in 0..<60 {
                let length = Double.random(in: 0.1...1, using: &random)
                fragments.add(
                    time...time + length,
                    isKey: number == 0 || Int.random(in: 0..<4, using: &random) == 0,
                    bytes: Int64.random(in: 100...9_000, using: &random))
                time += length
                if Int.random(in: 0..<20, using: &random) == 0 { time += 3 }
            }
            all += fragments.fragments
            let starts = fragments.fragments.compactMap(\.decodableFromNanoseconds)
            for (one, next) in zip(starts, starts.dropFirst() + [nanoseconds(time)]) {
                longest = max(longest, next - one)
            }
            // One after another, as they are written.
            let name = SegmentFile(
                name: "\(file)", originNanoseconds: nanoseconds(origin), formats: [])
            let place = found.beginFile(name)
            let index = try #require(place)
            for fragment in fragments.fragments {
                let before = found.segments
                found.append(fragment, toFile: index)
                #expect(found.segments.starts(with: before), "seed \(seed)")
            }
            found.finishFile(index)
        }
        found.finish()
        #expect(found.segments.count > 10)
        for (one, next) in zip(found.segments, found.segments.dropFirst()) {
            #expect(one.endNanoseconds <= next.startNanoseconds + 1, "seed \(seed)")
            guard one.file == next.file else { continue }
            #expect(one.range.upperBound == next.range.lowerBound, "seed \(seed)")
            let distance = next.startNanoseconds - one.endNanoseconds
            #expect(next.followsGap == (distance > 500_000_000), "seed \(seed)")
        }
        let bytes = found.segments.reduce(0) { $0 + $1.range.upperBound - $1.range.lowerBound }
        #expect(bytes == all.reduce(0) { $0 + $1.range.upperBound - $1.range.lowerBound })
        let keys = Set(all.filter { $0.decodableFromNanoseconds != nil }.map(\.range.lowerBound))
        #expect(found.segments.allSatisfy { keys.contains($0.range.lowerBound) }, "seed \(seed)")
        let bound = MediaSegmentation.targetNanoseconds * 17 / 16 + longest
        #expect(found.segments.allSatisfy { $0.durationNanoseconds <= bound }, "seed \(seed)")
    }

    @Test func `regular groups make regular segments`() {
        // Groups of two seconds are joined, also when they are a little long; of three, they are not.
        for (length, expected) in [(2.0, 4.0), (2.02, 4.04), (3.0, 3.0), (0.5, 4.0), (10.0, 10.0)] {
            var fragments = WrittenFragments()
            for group in 0..<40 {
                let start = Double(group) * length
                fragments.add(start...start + length, isKey: true)
            }
            var found = MediaSegmentation()
            found.add(fragments, name: "a")
            let whole = found.seconds.dropLast()
            #expect(whole.allSatisfy { abs($0 - expected) < 0.001 }, "\(length): \(whole)")
        }
    }
}
