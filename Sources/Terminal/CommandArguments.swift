import Files
import Glibc

/// The process's arguments.
package enum CommandArguments {
    /// Those after the program's name.
    ///
    /// Swift finds them in memory, next to the environment. If a preloaded library such as libfaketime has moved the environment,
    /// Swift finds none, and the kernel's copy is read.
    package static let all: [String] = {
        let known = CommandLine.arguments
        return Array((known.isEmpty ? ofKernel : known).dropFirst())
    }()

    /// Linux's limit with the usual stack size, a quarter of it (execve(2)).
    private static let limitBytes = 2 << 20

    /// The kernel's copy, the program's name first (proc_pid_cmdline(5)); empty if /proc cannot be read.
    static var ofKernel: [String] {
        let descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        let bytes = Descriptor.read(descriptor, limit: limitBytes) ?? []
        // Each ends with a zero byte.
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
