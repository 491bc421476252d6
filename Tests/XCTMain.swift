import Testing

/// Runs the tests. SwiftPM takes this file as the test program's entry point, and then searches no index of the sources for tests
/// of XCTest: there are none, and an index costs each compilation a tenth of its time.
@main struct Runner {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
