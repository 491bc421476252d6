import Testing

@testable import CollectorCore

/// Connections and files share the process's descriptors.
@Suite struct DescriptorBudgetTests {
    @Test(arguments: [256, 1_024, 4_096, 65_536, 1_048_576])
    func `connections and the files of all sources fit into the limit`(descriptors: Int) {
        let budget = DescriptorBudget(descriptors: descriptors)
        #expect(budget.connections + 3 * budget.sources + 96 <= descriptors || budget.sources == 8)
        #expect(budget.connections <= descriptors / 2)
    }

    @Test func `the services' limit is enough for every source of the protocol's`() {
        #expect(DescriptorBudget(descriptors: 65_536).sources == 16_384)
        #expect(DescriptorBudget(descriptors: 1_024).sources == 138)
        #expect(DescriptorBudget(descriptors: 64).sources == 8)
    }
}
