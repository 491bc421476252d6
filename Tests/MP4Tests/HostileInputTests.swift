import Media
import Testing

@testable import MP4

/// Corrupt files: readers may refuse them, and never trap, hang or exhaust memory.
struct HostileInputTests {
    /// All readers on one file.
    private func readAll(_ bytes: [UInt8]) {
        let source = MemorySource(bytes)
        do {
            var limits = BoxTree.Limits()
            limits.boxes = 10_000
            _ = try BoxTree(of: source, entersMediaData: true, limits: limits)
        } catch {
            Issue.record("a tree is always there: \(error)")
        }
        do {
            _ = try Movie.read(from: source)
        } catch {}
        do {
            var scanner = try FragmentScanner(source)
            var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
            while let fragment = try scanner.next() { try builder.append(fragment) }
            #expect(scanner.validEnd <= source.sizeBytes)
            _ = try builder.movie(primingSamples: [.audio: 1])
        } catch {}
    }

    private func files() throws -> [[UInt8]] {
        let recorder = try Recorder(.handmade(pictures: 12, group: 6))
        return [recorder.bytes, try recorder.halfFinished(), try recorder.finished()]
    }

    @Test
    func `no single changed byte harms a reader`() throws {
        let files = try files()
        // The finished file contains the growing one except the placeholder.
        let front = 0..<Int(FragmentedHeader.placeholderOffset) + 16
        for (file, range) in [(files[0], front), (files[2], files[2].indices)] {
            for index in range {
                var changed = file
                changed[index] = [0xFF, file[index] ^ 0x80, file[index] ^ 1][index % 3]
                readAll(changed)
            }
        }
    }

    @Test
    func `no truncation harms a reader`() throws {
        for file in try files() {
            for end in stride(from: 0, to: file.count, by: 2) { readAll(Array(file[..<end])) }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `no handful of changed bytes harms a reader`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for file in try files() {
            for _ in 0..<100 {
                var changed = file
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    let index = Int.random(in: 0..<file.count - 4, using: &random)
                    let value =
                        [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)]
                        .randomElement(using: &random) ?? 0
                    for place in index..<index + Int.random(in: 1...4, using: &random) {
                        changed[place] = value
                    }
                }
                readAll(changed)
            }
        }
    }

    @Test
    func `times do not overflow at any timescale`() throws {
        func places(of type: String, in bytes: [UInt8]) -> [Int] {
            let name = Array(type.utf8)
            return bytes.indices.dropLast(24).filter { Array(bytes[$0..<$0 + 4]) == name }
        }
        let times: [UInt64] = [.max, .max >> 1, .max >> 2, .max >> 3, 1 << 62, 1 << 61]
        for file in try files() {
            for time in times {
                var changed = file
                for place in places(of: "mdhd", in: file) {
                    let timescale = place + (file[place + 4] == 1 ? 24 : 16)
                    for index in timescale..<timescale + 4 { changed[index] = 0xFF }
                }
                for place in places(of: "tfdt", in: file) where file[place + 4] == 1 {
                    for index in 0..<8 {
                        changed[place + 8 + index] = UInt8(
                            truncatingIfNeeded: time >> (56 - index * 8))
                    }
                }
                readAll(changed)
            }
        }
    }

    @Test
    func `boxes within boxes end at the limit of depth`() throws {
        var bytes: [UInt8] = []
        for _ in 0..<1_000 {
            var writer = BoxWriter()
            writer.box("moov") { $0.raw(bytes) }
            bytes = writer.bytes
        }
        let tree = try BoxTree(of: MemorySource(bytes))
        var depth = 0
        var node = tree.boxes.first
        while let inner = node {
            depth += 1
            node = inner.children.first
        }
        #expect(depth == BoxTree.Limits().depth + 1)
    }

    @Test
    func `a table that claims four thousand million samples is refused`() throws {
        let finished = try Recorder(.handmade()).finished()
        let tree = try BoxTree(of: MemorySource(finished))
        func find(_ type: FourCC, in nodes: [BoxNode]) -> BoxNode? {
            for node in nodes {
                if node.type == type { return node }
                if let found = find(type, in: node.children) { return found }
            }
            return nil
        }
        let stsz = try #require(find("stsz", in: tree.boxes))
        for uniform: UInt8 in [0, 1] {
            var changed = finished
            let fields = Int(stsz.offset) + 12
            changed[fields + 3] = uniform
            for index in 4..<8 { changed[fields + index] = 0xFF }
            #expect(
                throws: MP4Error.overLimit(
                    box: "stsz", offset: stsz.offset, what: "number of samples",
                    value: 0xFFFF_FFFF, limit: SampleTable.maximumSamples)
            ) { try Movie.read(from: MemorySource(changed)) }
        }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
