// What the others are compared with: Eigen's dense solver and product.
#include <Eigen/Dense>

Eigen::VectorXd solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) { return a.colPivHouseholderQr().solve(b); }
Eigen::MatrixXd product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return a * b; }
