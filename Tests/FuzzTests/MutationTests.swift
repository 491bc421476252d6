import Foundation
import FuzzTargets
import Testing

/// Each target with its corpus and with mutations of it from a seed. libFuzzer, guided by coverage, finds more in a
/// longer run: `Tests/Fuzz/run SECONDS`.
@Suite struct MutationTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz/Corpus")
    /// Mutated inputs for each target; `FUZZ_EXECUTIONS=10000` tries more.
    private static let executions =
        ProcessInfo.processInfo.environment["FUZZ_EXECUTIONS"].flatMap { Int($0) } ?? 300
    /// `FUZZ_SEED=N` tries others.
    private static let seed =
        ProcessInfo.processInfo.environment["FUZZ_SEED"].flatMap { UInt64($0) } ?? 1

    @Test func `every target has a corpus, and every corpus a target`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTargets.all.keys))
    }

    /// A violated invariant ends the whole run with a trap. The input is kept in a file whose name is printed before.
    @Test(arguments: FuzzTargets.all.keys.sorted())
    func `a fuzz target accepts its corpus and mutations without a trap`(name: String) throws {
        let target = try #require(FuzzTargets.all[name])
        let folder = Self.corpus.appending(path: name)
        let inputs = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .map { try [UInt8](Data(contentsOf: folder.appending(path: $0))) }
        try #require(!inputs.isEmpty)
        let current = FileManager.default.temporaryDirectory.appending(
            path: "tributary-fuzz-\(getpid())-\(name)")
        defer {
            do {
                try FileManager.default.removeItem(at: current)
            } catch {
                Issue.record("\(error)")
            }
        }
        print("seed \(Self.seed); an input that ends this run is in \(current.path)")
        var mutator = Mutator(seed: Self.seed, inputs: inputs)
        for number in 0..<inputs.count + Self.executions {
            let input = number < inputs.count ? inputs[number] : mutator.next()
            try Data(input).write(to: current)
            target(input)
        }
    }
}

/// Makes inputs from others: flips bits, puts in values at the edges, removes, repeats and exchanges pieces.
private struct Mutator {
    private static let edges: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF]
    /// Maximum size of an input, as libFuzzer's `-max_len`.
    private static let maximumBytes = 65_536

    private var random: SplitMix64
    private let inputs: [[UInt8]]

    init(seed: UInt64, inputs: [[UInt8]]) {
        random = SplitMix64(state: seed)
        self.inputs = inputs
    }

    mutating func next() -> [UInt8] {
        var bytes = inputs[Int.random(in: 0..<inputs.count, using: &random)]
        for _ in 0..<Int.random(in: 1...8, using: &random) { change(&bytes) }
        return Array(bytes.prefix(Self.maximumBytes))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else {
            bytes = [UInt8.random(in: 0...255, using: &random)]
            return
        }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 1...32, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = Self.edges.randomElement(using: &random) ?? 0
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4:
            for index in place..<end { bytes[index] = UInt8.random(in: 0...255, using: &random) }
        default:
            let other = inputs[Int.random(in: 0..<inputs.count, using: &random)]
            bytes.replaceSubrange(place..., with: other.dropFirst(min(place, other.count)))
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed, everywhere.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
