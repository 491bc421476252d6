import Testing

@testable import Catalog

@Suite struct CatalogOptionsTests {
    @Test(arguments: [
        ("sqlite", false), ("postgresql://user@host/database", true), ("catalog.json", false),
    ])
    func `the backend states whether it has a server`(_ catalog: String, isServer: Bool) {
        var options = CatalogOptions()
        options.catalog = catalog
        #expect(options.isServer == isServer)
        #expect(CatalogReference.serverForm == "postgresql://…")
    }
}
