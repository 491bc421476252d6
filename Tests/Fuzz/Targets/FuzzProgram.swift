import Glibc

/// libFuzzer's entry (LLVM, "libFuzzer: a library for coverage-guided fuzz testing", "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// What reads bytes from strangers, one at a time: `fuzz TARGET [libFuzzer's options] [corpus …]`.
@main
enum FuzzProgram {
    typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

    private static let targets: [String: Callback] = [
        "wire": { bytes, count in run(WireTarget.run, bytes, count) },
        "collector": { bytes, count in run(CollectorTarget.run, bytes, count) },
        "agent": { bytes, count in run(AgentTarget.run, bytes, count) },
        "mp4": { bytes, count in run(MP4Target.run, bytes, count) },
        "ledger": { bytes, count in run(LedgerTarget.run, bytes, count) },
        "archive": { bytes, count in run(ArchiveTarget.run, bytes, count) },
        "paths": { bytes, count in run(PathsTarget.run, bytes, count) },
        "spool": { bytes, count in run(SpoolTarget.run, bytes, count) },
        "answers": { bytes, count in run(AnswersTarget.run, bytes, count) },
        "sets": { bytes, count in run(ParameterSetTarget.run, bytes, count) },
        "pictures": { bytes, count in run(AccessUnitTarget.run, bytes, count) },
        "keys": { bytes, count in run(KeysTarget.run, bytes, count) },
    ]

    private static func run(
        _ body: ([UInt8]) -> Void, _ bytes: UnsafePointer<UInt8>?, _ count: Int
    ) -> CInt {
        body(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    }

    static func main() {
        let words = CommandLine.arguments
        if words.count == 3, words[1] == "--seed-corpus" {
            return Seeds.write(below: words[2])
        }
        guard words.count > 1, let target = targets[words[1]] else {
            print("usage: fuzz TARGET [options] [corpus …]; TARGET is one of")
            print(targets.keys.sorted().joined(separator: " "))
            exit(64)
        }
        // libFuzzer wants a program's arguments, and may change them.
        var pointers: [UnsafeMutablePointer<CChar>?] = ([words[0]] + words.dropFirst(2)).map {
            strdup($0)
        }
        pointers.append(nil)
        var count = CInt(pointers.count - 1)
        let status = pointers.withUnsafeMutableBufferPointer { buffer -> CInt in
            var start = buffer.baseAddress
            return runDriver(&count, &start, target)
        }
        exit(status)
    }
}
