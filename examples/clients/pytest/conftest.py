from lockstorm_pytest import *
