// The same computation, compiled with and without contraction.
#pragma once

#include <cstdint>
#include <vector>

std::vector<std::uint32_t> bits_uncontracted(std::uint64_t seed);
std::vector<std::uint32_t> bits_contracted(std::uint64_t seed);
double contracts_uncontracted(double a, double b, double c);
double contracts_contracted(double a, double b, double c);
