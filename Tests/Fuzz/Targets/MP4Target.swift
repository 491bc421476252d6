import MP4
import Media

/// A file: every MP4 reader may refuse it and must not trap, hang or exhaust memory.
enum MP4Target {
    static func run(_ bytes: [UInt8]) {
        let source = MemorySource(bytes)
        var limits = BoxTree.Limits()
        limits.boxes = 10_000
        do throws(MP4Error) {
            _ = try BoxTree(of: source, entersMediaData: true, limits: limits)
        } catch {
            preconditionFailure("a tree is always there: \(error)")
        }
        do throws(MP4Error) {
            _ = try Movie.read(from: source)
        } catch {
            precondition(!"\(error)".isEmpty)
        }
        do throws(MP4Error) {
            var scanner = try FragmentScanner(source)
            var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
            while let fragment = try scanner.next() { try builder.append(fragment) }
            precondition(scanner.validEnd <= source.sizeBytes)
            _ = try builder.movie(primingSamples: [.audio: 1])
        } catch {
            precondition(!"\(error)".isEmpty)
        }
    }
}
