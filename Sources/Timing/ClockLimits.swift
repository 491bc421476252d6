/// The assumptions about clocks: every bound is valid under these limits.
package enum ClockLimits {
    /// Maximum rate difference of two clocks: 500 ppm, the most that a kernel lets a clock be adjusted and more than the error of
    /// any crystal, and a tenth more for temperature.
    package static let skewPPB: Int64 = 550_000
    /// Maximum sudden change of the skew: a time daemon that adjusts one of the two kernels in small steps.
    package static let skewStepPPB: Int64 = 20_000
    /// Maximum gradual change of the skew in addition: 3 ppm in a minute, a box that warms up by a degree or two in that time.
    package static let wanderPPBPerSecond: Int64 = 50
    /// Upper limit of clock readings (73 years), so that sums and differences of offsets never overflow.
    package static let timestampNanoseconds: Int64 = 1 << 61
}
