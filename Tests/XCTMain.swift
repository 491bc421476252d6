import Testing

/// Runs the tests. SwiftPM uses this file as the test program's entry point instead of searching an index of the
/// sources for XCTest tests: there are none, and the index costs a tenth of each compilation.
@main struct Runner {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
