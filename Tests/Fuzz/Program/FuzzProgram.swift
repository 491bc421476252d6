import FuzzTargets
import Glibc
import Synchronization

/// libFuzzer's entry (LLVM, "libFuzzer: a library for coverage-guided fuzz testing", "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Runs one target under libFuzzer: `fuzz TARGET [libFuzzer's options] [corpus …]`.
@main
enum FuzzProgram {
    /// A closure that a `Mutex` holds itself is wrapped once more by each access: after minutes, an execution calls
    /// thousands of wrappers.
    private struct Chosen {
        var run: @Sendable ([UInt8]) -> Void
    }

    /// The chosen target. A function for C has no captures.
    private static let target = Mutex(Chosen { _ in })

    static func main() {
        let words = CommandLine.arguments
        if words.count == 3, words[1] == "--seed-corpus" {
            return FuzzTargets.writeSeeds(below: words[2])
        }
        guard words.count > 1, let chosen = FuzzTargets.all[words[1]] else {
            print("usage: fuzz TARGET [options] [corpus …]; TARGET is one of")
            print(FuzzTargets.all.keys.sorted().joined(separator: " "))
            exit(64)
        }
        target.withLock { $0.run = chosen }
        // libFuzzer reads the program's arguments and may change them.
        var pointers: [UnsafeMutablePointer<CChar>?] = ([words[0]] + words.dropFirst(2)).map {
            strdup($0)
        }
        pointers.append(nil)
        var count = CInt(pointers.count - 1)
        let status = pointers.withUnsafeMutableBufferPointer { buffer -> CInt in
            var start = buffer.baseAddress
            return runDriver(&count, &start) { bytes, count in
                let input = Array(UnsafeBufferPointer(start: bytes, count: count))
                FuzzProgram.target.withLock { $0 }.run(input)
                return 0
            }
        }
        exit(status)
    }
}
