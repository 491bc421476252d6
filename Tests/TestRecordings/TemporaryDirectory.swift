import Archive
import Glibc

/// A directory that is removed with this object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        var template = Array("/tmp/tributary-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, let made = mkdtemp(start) else {
                preconditionFailure("no temporary directory: errno \(errno)")
            }
            return String(cString: made)
        }
    }

    deinit {
        do {
            try FileSystem.removeTree(path)
        } catch {
            print("\(path) stays: \(error)")
        }
    }
}
