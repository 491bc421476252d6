import Glibc

/// The limit of file descriptors of the process, shared by connections and files.
package enum DescriptorLimit {
    /// Raises the soft limit towards the hard limit, as far as useful.
    /// - Returns: the limit now in force.
    @discardableResult
    package static func raise(to wanted: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return wanted }
        let goal = min(rlim_t(wanted), limit.rlim_max)
        guard limit.rlim_cur < goal else { return Int(clamping: limit.rlim_cur) }
        let before = limit.rlim_cur
        limit.rlim_cur = goal
        return Int(clamping: setrlimit(resource, &limit) == 0 ? goal : before)
    }

    /// Raises the limit of a program that serves.
    ///
    /// ZeroMQ and SwiftNIO abort the process if they cannot make a descriptor.
    /// - Throws: ``Failure`` if the hard limit is below `least`.
    package static func raise(to wanted: Int, orFailBelow least: Int) throws(Failure) {
        let limit = raise(to: wanted)
        guard limit >= least else {
            throw Failure(
                "the limit of open files is \(limit), and at least \(least) are needed: raise it with ulimit -Hn or "
                    + "LimitNOFILE= of the service")
        }
    }
}
